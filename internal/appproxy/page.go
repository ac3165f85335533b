package appproxy

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// pagePolicy allows a page its one style element, by its hash, and nothing else.
var pagePolicy = func() string {
	_, style, _ := strings.Cut(pageHTML, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
}()

// link is a link on an error page.
type link struct{ URL, Text string }

// wantsPage reports whether the client is a browser that shows the response.
func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// replyError replies with an error. An error that is not a *codersdk.Error is
// logged and not shown. target is the app, nil if unknown.
func (p *Proxy) replyError(w http.ResponseWriter, r *http.Request, target *workspaceapp.Target, err error) {
	if r.Context().Err() != nil {
		w.WriteHeader(http.StatusServiceUnavailable) // the client is probably gone
		return
	}
	e, ok := errors.AsType[*codersdk.Error](err)
	if !ok || e.Code == codersdk.CodeInternal {
		p.c.Log.ErrorContext(r.Context(), "app request failed", "method", r.Method, "host", r.Host, "error", err)
		e = codersdk.Errorf(codersdk.CodeInternal, "Internal server error; the server's log has the cause")
	}
	status := codersdk.Status(e.Code)
	var next *link
	switch {
	case target != nil && e.Code == codersdk.CodeUnavailable:
		w.Header().Set("Retry-After", "5")
		to := *p.c.Dashboard
		to.Path = "/@" + target.OwnerName + "/" + target.WorkspaceName
		next = &link{to.String(), "Show workspace"}
		if errors.Unwrap(e) != nil {
			status = http.StatusBadGateway
		}
	case wantsPage(r):
		next = &link{p.c.Dashboard.String(), "Go to dashboard"}
	}
	p.writeError(w, r, status, e, next)
}

// setOwnHeaders sets the security headers of responses that are not an app's.
func setOwnHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", pagePolicy)
}

// redirect sends the client to another address.
func redirect(w http.ResponseWriter, r *http.Request, to string, status int) {
	setOwnHeaders(w.Header())
	http.Redirect(w, r, to, status)
}

// writeError writes an error as a page for browsers, or as JSON for programs.
func (p *Proxy) writeError(w http.ResponseWriter, r *http.Request, status int, e *codersdk.Error, next *link) {
	h := w.Header()
	for _, name := range []string{"Content-Length", "Content-Encoding", "Etag", "Last-Modified"} {
		h.Del(name)
	}
	setOwnHeaders(h)
	var b bytes.Buffer
	if wantsPage(r) {
		h.Set("Content-Type", "text/html; charset=utf-8")
		pageTemplate.Execute(&b, struct { //nolint:errcheck // writes to a buffer do not fail
			Status        int
			Title, Detail string
			Link          *link
		}{status, e.Message, asSentence(e.Detail), next})
	} else {
		h.Set("Content-Type", "application/json; charset=utf-8")
		json.NewEncoder(&b).Encode(codersdk.Response{Message: e.Message, Detail: e.Detail, Validations: e.Fields}) //nolint:errcheck // as above
	}
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(b.Bytes()) //nolint:errcheck // the client went away
	}
}

// asSentence returns an error detail with a capital letter and a full stop.
func asSentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}
