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

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
)

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// pagePolicy allows a page its one style element, known by its hash, and nothing else.
var pagePolicy = func() string {
	_, style, _ := strings.Cut(pageHTML, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
}()

// action is a link that a page offers.
type action struct{ URL, Text string }

// wantsPage says whether a person reads the answer.
func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// fail answers an error. What is not a *coder.Error is ours and goes to the log.
func (p *Proxy) fail(w http.ResponseWriter, r *http.Request, v *visit, err error) {
	if r.Context().Err() != nil {
		w.WriteHeader(http.StatusServiceUnavailable) // likely nobody is there to read it
		return
	}
	e, ok := errors.AsType[*coder.Error](err)
	if !ok || e.Code == coder.CodeInternal {
		p.c.Log.ErrorContext(r.Context(), "a request to an app failed", "method", r.Method, "host", r.Host, "error", err)
		e = coder.Errorf(coder.CodeInternal, "The server failed to do this; its log says why")
	}
	status := client.Status(e.Code)
	var link *action
	switch {
	case v != nil && v.target != nil && e.Code == coder.CodeUnavailable:
		w.Header().Set("Retry-After", "5")
		to := *p.c.Dashboard
		to.Path = "/@" + v.target.OwnerName + "/" + v.target.WorkspaceName
		link = &action{to.String(), "Show the workspace"}
		if coder.Is(err, coder.CodeUnavailable) && errors.Unwrap(e) != nil {
			status = http.StatusBadGateway
		}
	case wantsPage(r):
		link = &action{p.c.Dashboard.String(), "Go to the dashboard"}
	}
	p.page(w, r, status, e, link)
}

// ours tells browsers what they may do with an answer that is not the app's.
func ours(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", pagePolicy)
}

// send sends a browser elsewhere.
func send(w http.ResponseWriter, r *http.Request, to string, status int) {
	ours(w.Header())
	http.Redirect(w, r, to, status)
}

// page writes an error for people, or as JSON for programs.
func (p *Proxy) page(w http.ResponseWriter, r *http.Request, status int, e *coder.Error, link *action) {
	h := w.Header()
	for _, name := range []string{"Content-Length", "Content-Encoding", "Etag", "Last-Modified"} {
		h.Del(name)
	}
	ours(h)
	var b bytes.Buffer
	if wantsPage(r) {
		h.Set("Content-Type", "text/html; charset=utf-8")
		pageTemplate.Execute(&b, struct { //nolint:errcheck // a buffer takes everything
			Status        int
			Title, Detail string
			Link          *action
		}{status, e.Message, sentence(e.Detail), link})
	} else {
		h.Set("Content-Type", "application/json; charset=utf-8")
		json.NewEncoder(&b).Encode(coder.Response{Message: e.Message, Detail: e.Detail, Validations: e.Fields}) //nolint:errcheck // as above
	}
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(b.Bytes()) //nolint:errcheck // the client went away
	}
}

// sentence makes a detail one.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}
