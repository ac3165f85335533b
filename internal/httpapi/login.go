package httpapi

import (
	"net/http"
	"net/url"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/login"
)

// loginRoutes are the sign-in routes of external providers. A sign-in starts
// and finishes at the same path, because providers are configured with one
// callback address.
func (a *API) loginRoutes() []rest.Route {
	passcodes := []rest.Route{
		{Method: "POST", Path: "/users/otp/request", Summary: "Request a one-time passcode by email",
			Auth: rest.AuthPublic, In: codersdk.RequestOneTimePasscodeRequest{}, Status: 204, Handler: a.postPasscodeRequest},
		{Method: "POST", Path: "/users/otp/change-password", Summary: "Set a password with a one-time passcode",
			Auth: rest.AuthPublic, In: codersdk.ChangePasswordWithOneTimePasscodeRequest{}, Status: 204, Handler: a.postPasscodePassword},
	}
	if a.Login == nil {
		return passcodes
	}
	return append(passcodes, []rest.Route{
		{Method: "GET", Path: "/users/oidc/callback", Summary: "Sign in with OpenID Connect",
			Auth: rest.AuthPublic, Status: 307, Handler: a.loginBy(codersdk.LoginTypeOIDC)},
		{Method: "GET", Path: "/users/oauth2/github/callback", Summary: "Sign in with GitHub",
			Auth: rest.AuthPublic, Status: 307, Handler: a.loginBy(codersdk.LoginTypeGitHub)},
		{Method: "GET", Path: "/users/oauth2/github/device", Summary: "Start a GitHub device flow",
			Auth: rest.AuthPublic, Out: codersdk.ExternalAuthDevice{}, Handler: a.getGitHubDevice},
	}...)
}

// loginCookie is the cookie that holds the state of a sign-in until it
// finishes.
const loginCookie = "coder_login"

// loginBy starts a sign-in, or finishes it when the request is the provider's
// response.
func (a *API) loginBy(by codersdk.LoginType) rest.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		q := r.URL.Query()
		var err error
		if q.Has("code") || q.Has("state") || q.Has("error") {
			err = a.finishLogin(w, r, by, q)
		} else {
			err = a.startLogin(w, r, by, q)
		}
		if err != nil {
			return rest.ShowError(w, r, a.Log, "/login", err)
		}
		return nil
	}
}

func (a *API) startLogin(w http.ResponseWriter, r *http.Request, by codersdk.LoginType, q url.Values) error {
	location, cookie, err := a.Login.Begin(r.Context(), by, q.Get("redirect"), q.Get("oidc_merge_state"))
	if err != nil {
		return err
	}
	a.setLoginCookie(w, cookie, int(login.StateLifetime.Seconds()))
	return rest.Redirect(w, location)
}

// finishLogin creates the session. With GitHub's device flow the dashboard
// polls this route: it replies with the address to open next, and keeps the
// sign-in state until the user has entered the code.
func (a *API) finishLogin(w http.ResponseWriter, r *http.Request, by codersdk.LoginType, q url.Values) error {
	byDevice := by == codersdk.LoginTypeGitHub && a.Login.DeviceFlow()
	if !byDevice {
		a.setLoginCookie(w, "", -1) // the state is valid for one attempt
	}
	cookie := ""
	if c, err := r.Cookie(loginCookie); err == nil {
		cookie = c.Value
	}
	answer := login.Answer{State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error"), Description: q.Get("error_description")}
	token, redirect, err := a.Login.End(r.Context(), a.origin(r), a.browserSubject(r), by, cookie, answer)
	if err != nil {
		return err
	}
	a.setSessionCookie(w, token)
	if byDevice {
		a.setLoginCookie(w, "", -1)
		return rest.Reply(w, http.StatusOK, codersdk.OAuth2DeviceFlowCallbackResponse{RedirectURL: redirect})
	}
	return rest.Redirect(w, redirect)
}

// browserSubject returns the user of the browser's session cookie, or the zero
// Subject without a valid session.
func (a *API) browserSubject(r *http.Request) access.Subject {
	c, err := r.Cookie(codersdk.SessionCookie)
	if err != nil {
		return access.Subject{}
	}
	s, err := a.Identity.Authenticate(r.Context(), c.Value, a.origin(r))
	if err != nil {
		return access.Subject{}
	}
	return s
}

// setLoginCookie stores the sign-in state in a cookie; a negative lifetime
// deletes it. SameSite cannot be strict, because providers redirect back from
// another site.
func (a *API) setLoginCookie(w http.ResponseWriter, value string, seconds int) {
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
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) postPasscodeRequest(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.RequestOneTimePasscodeRequest](r)
	if err != nil {
		return err
	}
	if err := a.Identity.RequestPasscode(r.Context(), a.origin(r), req); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (a *API) postPasscodePassword(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.ChangePasswordWithOneTimePasscodeRequest](r)
	if err != nil {
		return err
	}
	if err := a.Identity.ChangePasswordByPasscode(r.Context(), a.origin(r), req); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (a *API) getAuthMethods(w http.ResponseWriter, _ *http.Request) error {
	out := codersdk.AuthMethods{Password: codersdk.AuthMethod{Enabled: !a.PasswordAuthDisabled}, TermsOfServiceURL: a.TermsOfServiceURL}
	if a.Login != nil {
		out.OIDC, out.GitHub = a.Login.Methods()
	}
	return rest.Reply(w, http.StatusOK, out)
}
