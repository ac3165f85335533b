package oauth2api

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/oauth2provider"
	"github.com/seed-2a7f8fe7/coder/internal/oauth2provider/redirecturi"
)

//go:embed consent.html
var consentHTML string

var consentPage = template.Must(template.New("consent").Parse(consentHTML))

// page is what the consent page shows: a question, a code to copy, or a problem.
type page struct {
	Nonce, Title string
	Username     string
	App          codersdk.OAuth2ProviderApp
	Scopes       []oauth2provider.ScopeText
	Full         bool   // the application asks for all rights
	Resource     string // part of the API that the tokens are limited to, "" for none
	Target       string // where the browser goes next
	Action       string // address of the form
	Consent      string // token of the page
	Code         string // for applications that cannot receive a redirect
	Problem      string
}

// getAuthorize asks the user for consent. A browser without a session signs in first.
func (c *API) getAuthorize(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	if q.Has("client_secret") {
		c.Log.WarnContext(r.Context(), "an application sent its client secret in the address of an authorization request; it should create a new secret",
			"client_id", rest.Truncate(q.Get("client_id"), 64))
		q.Del("client_secret")
	}
	actor, err := c.signedIn(r)
	if codersdk.Is(err, codersdk.CodeUnauthenticated) && rest.WantsPage(r) {
		target := url.URL{Path: oauth2provider.AuthorizePath, RawQuery: q.Encode()}
		return found(w, "/login?"+url.Values{"redirect": {target.String()}}.Encode())
	}
	if err != nil {
		return c.problem(w, r, err)
	}
	a, err := c.Provider.Authorize(r.Context(), q)
	if err != nil {
		return c.refuse(w, r, a, err)
	}
	if err := c.Provider.CheckRules(r.Context(), actor, a); err != nil {
		return c.problem(w, r, err)
	}
	consent, err := c.Provider.Seal(actor, q)
	if err != nil {
		return err
	}
	return c.show(w, http.StatusOK, a.RedirectURI, page{
		Title: "Authorize " + a.App.Name, Username: actor.Username, App: a.App, Scopes: a.Describe(), Full: a.Full(), Resource: a.Resource(),
		Target: target(a.RedirectURI), Action: oauth2provider.AuthorizePath + "?" + q.Encode(), Consent: consent,
	})
}

// postAuthorize is the user's answer. From a browser it must come from the page of getAuthorize.
func (c *API) postAuthorize(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	actor, err := c.signedIn(r)
	if err != nil {
		return c.problem(w, r, err)
	}
	if err := r.ParseForm(); err != nil {
		return c.problem(w, r, codersdk.Errorf(codersdk.CodeInvalid, "The body is not a valid form"))
	}
	if _, cookie := sessionToken(r); cookie {
		if err := c.sameSite(r); err != nil {
			return c.problem(w, r, err)
		}
		if err := c.Provider.CheckSeal(actor, r.PostForm.Get("consent"), q); err != nil {
			return c.problem(w, r, err)
		}
	}
	a, err := c.Provider.Authorize(r.Context(), q)
	if err != nil {
		return c.refuse(w, r, a, err)
	}
	if r.PostForm.Get("action") == "deny" {
		if a.RedirectURI == redirecturi.OutOfBand {
			return c.problem(w, r, codersdk.Errorf(codersdk.CodeForbidden, "You denied access to %s", a.App.Name))
		}
		return found(w, c.Provider.Deny(a))
	}
	location, code, err := c.Provider.Approve(r.Context(), actor, a)
	switch {
	case err != nil:
		return c.problem(w, r, err)
	case location == "":
		return c.show(w, http.StatusOK, "", page{Title: "Authorization code", App: a.App, Code: code})
	}
	return found(w, location)
}

// signedIn returns the user of the request's session, who can give consent with it.
func (c *API) signedIn(r *http.Request) (access.Subject, error) {
	actor, err := c.session(r)
	if err == nil {
		err = c.Provider.CheckSession(r.Context(), actor)
	}
	return actor, err
}

// sameSite refuses a request that a page of another site made the browser send.
func (c *API) sameSite(r *http.Request) error {
	if err := c.origins.Check(r); err != nil {
		return codersdk.Errorf(codersdk.CodeForbidden, "The request was sent by a page of another site, which is not allowed").WithCause(err)
	}
	return nil
}

// refuse answers a request that is wrong: at the application if its address is known, else on a page.
func (c *API) refuse(w http.ResponseWriter, r *http.Request, a oauth2provider.Authorization, err error) error {
	if a.RedirectURI == "" || a.RedirectURI == redirecturi.OutOfBand || codersdk.CodeOf(err) != codersdk.CodeInternal {
		return c.problem(w, r, err)
	}
	if f := oauth2provider.AsFailure(err); f.Code == oauth2provider.ServerError {
		c.Log.ErrorContext(r.Context(), "authorization request failed", "error", err)
	}
	return found(w, c.Provider.Refuse(a, err))
}

// problem shows a failure to the user, or returns it for programs.
func (c *API) problem(w http.ResponseWriter, r *http.Request, err error) error {
	if !rest.WantsPage(r) {
		return err
	}
	f, status := oauth2provider.AsFailure(err), http.StatusBadRequest
	text := f.Description
	if code := codersdk.CodeOf(err); code != codersdk.CodeInternal {
		status, text = codersdk.Status(code), rest.UserMessage(err)
	}
	if f.Code == oauth2provider.ServerError && status >= 500 {
		c.Log.ErrorContext(r.Context(), "authorization request failed", "error", err)
	}
	title := "The application's request is not valid"
	if strings.HasPrefix(text, "Invalid redirect_uri") {
		title = "Invalid Callback URL"
	}
	return c.show(w, status, "", page{Title: title, Problem: text})
}

// show writes a page. No other site can show it in a frame. The answer to its form is sent to this server, which then
// leads to the redirect URI.
func (c *API) show(w http.ResponseWriter, status int, redirect string, p page) error {
	p.Nonce = rand.Text()
	var b bytes.Buffer
	if err := consentPage.Execute(&b, p); err != nil {
		return err
	}
	form := "form-action 'self'"
	if u, err := url.Parse(redirect); err == nil && u.Scheme != "" {
		form += " " + u.Scheme + ":" // browsers apply the policy to the redirect, too
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", strings.Join([]string{
		"default-src 'none'", "style-src 'nonce-" + p.Nonce + "'", "img-src 'self' https: data:", form, "frame-ancestors 'none'", "base-uri 'none'",
	}, "; "))
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "same-origin") // the form's Origin header proves where it is from
	w.WriteHeader(status)
	w.Write(b.Bytes()) //nolint:errcheck // the browser went away
	return nil
}

// found sends the browser to location with a GET request.
func found(w http.ResponseWriter, location string) error {
	h := w.Header()
	h.Set("Location", location)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusFound)
	return nil
}

// target returns the part of a redirect URI that shows users where the browser goes.
func target(redirect string) string {
	u, err := url.Parse(redirect)
	if err != nil || redirect == redirecturi.OutOfBand {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
