package httpapi

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/login"
)

// loginRoutes are logging in by others: begun and ended at the same path, as
// the provider is told only one.
func (a *API) loginRoutes() []Route {
	passcodes := []Route{
		{Method: "POST", Path: "/users/otp/request", Summary: "Ask for a passcode to set a password", Auth: AuthPublic, In: coder.RequestOneTimePasscodeRequest{}, Status: 204, Handler: a.postPasscodeRequest},
		{Method: "POST", Path: "/users/otp/change-password", Summary: "Set a password with a passcode", Auth: AuthPublic, In: coder.ChangePasswordWithOneTimePasscodeRequest{}, Status: 204, Handler: a.postPasscodePassword},
	}
	if a.Login == nil {
		return passcodes
	}
	return append(passcodes, []Route{
		{Method: "GET", Path: "/users/oidc/callback", Summary: "Log in by OpenID Connect", Auth: AuthPublic, Status: 307, Handler: a.loginBy(coder.LoginTypeOIDC)},
		{Method: "GET", Path: "/users/oauth2/github/callback", Summary: "Log in by GitHub", Auth: AuthPublic, Status: 307, Handler: a.loginBy(coder.LoginTypeGitHub)},
		{Method: "GET", Path: "/users/oauth2/github/device", Summary: "Begin to log in to GitHub by a code", Auth: AuthPublic, Out: coder.ExternalAuthDevice{}, Handler: a.getGitHubDevice},
	}...)
}

// loginCookie holds what a login remembers until it ends.
const loginCookie = "coder_login"

// loginBy begins a login, or ends it when the request is a provider's answer.
func (a *API) loginBy(by coder.LoginType) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		q := r.URL.Query()
		var err error
		if q.Has("code") || q.Has("state") || q.Has("error") {
			err = a.endLogin(w, r, by, q)
		} else {
			err = a.beginLogin(w, r, by, q)
		}
		if err == nil || !strings.Contains(r.Header.Get("Accept"), "text/html") {
			return err
		}
		if coder.CodeOf(err) == coder.CodeInternal {
			return err
		}
		a.Log.InfoContext(r.Context(), "login refused", "login_type", by, "error", err) // the page has no room for the cause
		return a.sendTo(w, "/login?"+url.Values{"message": {shownError(err)}}.Encode())
	}
}

// shownError is what of an error people see.
func shownError(err error) string {
	if e, ok := errors.AsType[*coder.Error](err); ok {
		return clip(e.Message, 500)
	}
	return "The login failed"
}

// sendTo sends a browser elsewhere. Nothing on the way may keep the answer.
func (a *API) sendTo(w http.ResponseWriter, location string) error {
	w.Header().Set("Location", location)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusTemporaryRedirect)
	return nil
}

func (a *API) beginLogin(w http.ResponseWriter, r *http.Request, by coder.LoginType, q url.Values) error {
	location, cookie, err := a.Login.Begin(r.Context(), by, q.Get("redirect"), q.Get("oidc_merge_state"))
	if err != nil {
		return err
	}
	a.setLogin(w, cookie, int(login.StateLifetime.Seconds()))
	return a.sendTo(w, location)
}

// endLogin begins a session. GitHub's codes for devices are asked about by a
// page, which is told where to go; the login goes on while the answer is that
// nothing was typed in yet.
func (a *API) endLogin(w http.ResponseWriter, r *http.Request, by coder.LoginType, q url.Values) error {
	byDevice := by == coder.LoginTypeGitHub && a.Login.DeviceFlow()
	if !byDevice {
		a.setLogin(w, "", -1) // it counts once, however it ends
	}
	cookie := ""
	if c, err := r.Cookie(loginCookie); err == nil {
		cookie = c.Value
	}
	answer := login.Answer{State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error"), Description: q.Get("error_description")}
	token, redirect, err := a.Login.End(r.Context(), a.origin(r), a.browser(r), by, cookie, answer)
	if err != nil {
		return err
	}
	a.setSession(w, token)
	if byDevice {
		a.setLogin(w, "", -1)
		return reply(w, http.StatusOK, coder.OAuth2DeviceFlowCallbackResponse{RedirectURL: redirect})
	}
	return a.sendTo(w, redirect)
}

// browser is who the browser is logged in as, nobody for nobody.
func (a *API) browser(r *http.Request) access.Subject {
	c, err := r.Cookie(client.SessionCookie)
	if err != nil {
		return access.Subject{}
	}
	s, err := a.Identity.Authenticate(r.Context(), c.Value, a.origin(r))
	if err != nil {
		return access.Subject{}
	}
	return s
}

// setLogin puts what a login remembers into a cookie, or takes it out again.
// Providers send browsers back from another site, so it must not be strict.
func (a *API) setLogin(w http.ResponseWriter, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: loginCookie, Value: value, Path: Prefix + "/users/", MaxAge: seconds, HttpOnly: true,
		Secure: a.SecureCookies || a.AccessURL.Scheme == "https", SameSite: http.SameSiteLaxMode,
	})
}

func (a *API) getGitHubDevice(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Login.Device(r.Context())
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) postPasscodeRequest(w http.ResponseWriter, r *http.Request) error {
	req, err := decode[coder.RequestOneTimePasscodeRequest](r)
	if err != nil {
		return err
	}
	if err := a.Identity.RequestPasscode(r.Context(), a.origin(r), req); err != nil {
		return err
	}
	return done(w)
}

func (a *API) postPasscodePassword(w http.ResponseWriter, r *http.Request) error {
	req, err := decode[coder.ChangePasswordWithOneTimePasscodeRequest](r)
	if err != nil {
		return err
	}
	if err := a.Identity.ChangePasswordByPasscode(r.Context(), a.origin(r), req); err != nil {
		return err
	}
	return done(w)
}

func (a *API) getAuthMethods(w http.ResponseWriter, _ *http.Request) error {
	out := coder.AuthMethods{Password: coder.AuthMethod{Enabled: !a.PasswordAuthDisabled}, TermsOfServiceURL: a.TermsOfServiceURL}
	if a.Login != nil {
		out.OIDC, out.GitHub = a.Login.Methods()
	}
	return reply(w, http.StatusOK, out)
}
