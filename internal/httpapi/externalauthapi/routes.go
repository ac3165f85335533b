// Package externalauthapi serves the endpoints of external authentication: links of the user to providers,
// and the callback to which providers return browsers.
package externalauthapi

import (
	"log/slog"
	"net/http"
	"net/url"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/externalauth"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// Config holds the dependencies of the endpoints.
type Config struct {
	Links *externalauth.Service
	Log   *slog.Logger
	// Session returns the user of the browser's session cookie.
	Session func(r *http.Request) (access.Subject, error)
	// SecureCookies marks cookies for HTTPS only.
	SecureCookies bool
}

// Routes returns the endpoints.
func Routes(c Config) []rest.Route {
	const user = codersdk.RBACResourceUser
	return []rest.Route{
		{Method: "GET", Path: "/external-auth", Summary: "List external authentication providers and the user's links",
			About:  "Links are checked at their providers.",
			Action: codersdk.RBACActionReadPersonal, Resource: user, Out: codersdk.ListUserExternalAuthResponse{}, Handler: c.list},
		{Method: "GET", Path: "/external-auth/{externalauth}", Summary: "Get the user's link to a provider",
			Action: codersdk.RBACActionReadPersonal, Resource: user, Out: codersdk.ExternalAuth{}, Handler: c.get},
		{Method: "DELETE", Path: "/external-auth/{externalauth}", Summary: "Delete the user's link to a provider",
			About:  "The provider is asked to revoke the tokens. The link is deleted whatever it responds.",
			Action: codersdk.RBACActionUpdatePersonal, Resource: user, Out: codersdk.DeleteExternalAuthByIDResponse{}, Handler: c.delete},
		{Method: "GET", Path: "/external-auth/{externalauth}/device", Summary: "Start a link with the device flow",
			Action: codersdk.RBACActionUpdatePersonal, Resource: user, Out: codersdk.ExternalAuthDevice{}, Handler: c.getDevice},
		{Method: "POST", Path: "/external-auth/{externalauth}/device", Summary: "Complete a link with the device flow",
			About:  "While the user has not entered the code, the response is 400 with the provider's error code as the detail.",
			Action: codersdk.RBACActionUpdatePersonal, Resource: user, In: codersdk.ExternalAuthDeviceExchange{}, Status: 204, Handler: c.postDevice},
		{Method: "GET", Path: "/external-auth/{externalauth}/callback", Summary: "Link a provider in the browser",
			About: "Starts a link, and completes it when the provider returns the browser. Also served at " +
				"/external-auth/{externalauth}/callback, which is the callback URL to register at providers.",
			Query: []rest.Param{{Name: "redirect", Type: "string", About: "Path to open after the link."}},
			Auth:  rest.AuthSelf, Status: 307, Handler: c.callback},
	}
}

func (c Config) list(w http.ResponseWriter, r *http.Request) error {
	return rest.ServeResult(c.Links.Links)(w, r)
}

// id returns the provider of the path.
func id(r *http.Request) string { return r.PathValue("externalauth") }

func (c Config) get(w http.ResponseWriter, r *http.Request) error {
	out, err := c.Links.Provider(r.Context(), rest.Actor(r), id(r))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (c Config) delete(w http.ResponseWriter, r *http.Request) error {
	out, err := c.Links.Unlink(r.Context(), rest.Actor(r), id(r))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (c Config) getDevice(w http.ResponseWriter, r *http.Request) error {
	out, err := c.Links.Device(r.Context(), rest.Actor(r), id(r))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (c Config) postDevice(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.ExternalAuthDeviceExchange](r)
	if err != nil {
		return err
	}
	if err := c.Links.ExchangeDevice(r.Context(), rest.Actor(r), id(r), req.DeviceCode); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

// stateCookie holds the state of a link until the browser returns.
const stateCookie = "coder_external_auth"

// callback starts a link, or completes it when the request is the provider's response. Browsers without a
// session sign in first, and show errors on the page of linked accounts.
func (c Config) callback(w http.ResponseWriter, r *http.Request) error {
	err := c.follow(w, r)
	switch {
	case err == nil:
		return nil
	case codersdk.Is(err, codersdk.CodeUnauthenticated) && rest.WantsPage(r):
		target := url.URL{Path: "/external-auth/" + id(r) + "/callback", RawQuery: r.URL.RawQuery}
		return rest.Redirect(w, "/login?"+url.Values{"redirect": {target.String()}}.Encode())
	default:
		return rest.ShowError(w, r, c.Log, "/settings/external-auth", err)
	}
}

func (c Config) follow(w http.ResponseWriter, r *http.Request) error {
	actor, err := c.Session(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	if !q.Has("code") && !q.Has("state") && !q.Has("error") {
		location, cookie, err := c.Links.Begin(r.Context(), actor, id(r), q.Get("redirect"))
		if err != nil {
			return err
		}
		if cookie != "" {
			c.setCookie(w, r, cookie, int(externalauth.StateLifetime.Seconds()))
		}
		return rest.Redirect(w, location)
	}
	c.setCookie(w, r, "", -1) // the state is valid for one attempt
	sealed := ""
	if cookie, err := r.Cookie(stateCookie); err == nil {
		sealed = cookie.Value
	}
	answer := externalauth.Answer{State: q.Get("state"), Code: q.Get("code"), Error: q.Get("error"), Description: q.Get("error_description")}
	target, err := c.Links.End(r.Context(), actor, id(r), sealed, answer)
	if err != nil {
		return err
	}
	return rest.Redirect(w, target)
}

// setCookie stores the state of a link; a negative lifetime deletes it. SameSite cannot be strict, because
// providers return browsers from another site.
func (c Config) setCookie(w http.ResponseWriter, r *http.Request, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: stateCookie, Value: value, Path: "/external-auth/" + id(r) + "/", MaxAge: seconds, HttpOnly: true,
		Secure: c.SecureCookies, SameSite: http.SameSiteLaxMode,
	})
}
