package oauth2api

import (
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/oauth2provider"
)

// form reads the form of a request, and the credentials of the application from the form or from the Authorization
// header. Credentials in the address would end up in logs, and are refused.
func form(r *http.Request) (url.Values, oauth2provider.Credentials, error) {
	var c oauth2provider.Credentials
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, c, codersdk.Errorf(codersdk.CodeInvalid, "The body must be a form: application/x-www-form-urlencoded")
	}
	if err := r.ParseForm(); err != nil {
		return nil, c, codersdk.Errorf(codersdk.CodeInvalid, "The body is not a valid form")
	}
	if r.URL.Query().Has("client_secret") {
		return nil, c, codersdk.Invalid("client_secret", "cannot be in the address; send it in the body or in the Authorization header")
	}
	values := r.PostForm
	c = oauth2provider.Credentials{ClientID: values.Get("client_id"), Secret: values.Get("client_secret")}
	id, secret, basic := r.BasicAuth()
	if !basic {
		return values, c, nil
	}
	// RFC 6749 section 2.3.1: both parts are encoded as in a form.
	id, err := url.QueryUnescape(id)
	if err != nil {
		return nil, c, codersdk.Errorf(codersdk.CodeInvalid, "The client ID in the Authorization header is not encoded as in a form")
	}
	if secret, err = url.QueryUnescape(secret); err != nil {
		return nil, c, codersdk.Errorf(codersdk.CodeInvalid, "The client secret in the Authorization header is not encoded as in a form")
	}
	if c.Secret != "" || c.ClientID != "" && c.ClientID != id {
		return nil, c, codersdk.Errorf(codersdk.CodeInvalid, "The application proves itself in two ways; use the Authorization header or the body")
	}
	return values, oauth2provider.Credentials{ClientID: id, Secret: secret}, nil
}

func (c *API) postToken(w http.ResponseWriter, r *http.Request) error {
	values, credentials, err := form(r)
	if err != nil {
		return err
	}
	out, err := c.Provider.Token(r.Context(), origin(r), credentials, values)
	if err != nil {
		return err
	}
	w.Header().Set("Pragma", "no-cache")
	return rest.Reply(w, http.StatusOK, out)
}

func (c *API) postRevoke(w http.ResponseWriter, r *http.Request) error {
	values, credentials, err := form(r)
	if err != nil {
		return err
	}
	if err := c.Provider.Revoke(r.Context(), origin(r), credentials, values); err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, struct{}{})
}

// deleteTokens ends the consents of the user for an application. The dashboard and the SDK call it, so that failures
// have the form of the API.
func (c *API) deleteTokens(w http.ResponseWriter, r *http.Request) error {
	err := c.revokeApp(r)
	if err == nil {
		return rest.ReplyNoContent(w)
	}
	code := codersdk.CodeOf(err)
	if code == codersdk.CodeInternal {
		return err
	}
	return rest.Reply(w, codersdk.Status(code), codersdk.Response{Message: rest.UserMessage(err)})
}

func (c *API) revokeApp(r *http.Request) error {
	token, cookie := sessionToken(r)
	if token == "" {
		token = bearer(r)
	}
	if cookie {
		if err := c.sameSite(r); err != nil {
			return err
		}
	}
	actor, err := c.Authenticate(r, token)
	if err != nil {
		return err
	}
	id, err := uuid.Parse(r.URL.Query().Get("client_id"))
	if err != nil {
		return codersdk.Invalid("client_id", "is not a UUID")
	}
	return c.Provider.RevokeApp(r.Context(), actor, id)
}

func (c *API) serverMetadata(w http.ResponseWriter, r *http.Request) error {
	out, err := c.Provider.ServerMetadata(r.Context())
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (c *API) resourceMetadata(w http.ResponseWriter, r *http.Request) error {
	path := ""
	if p := strings.Trim(r.PathValue("path"), "/"); p != "" {
		path = "/" + p
	}
	out, err := c.Provider.ResourceMetadata(path)
	if err != nil {
		return rest.Reply(w, http.StatusNotFound, codersdk.Response{Message: "No protected resource has this path"})
	}
	return rest.Reply(w, http.StatusOK, out)
}
