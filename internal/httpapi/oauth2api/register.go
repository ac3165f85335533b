package oauth2api

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/oauth2provider"
)

// metadata reads the metadata of an application. Failures have the code that RFC 7591 wants.
func metadata(r *http.Request) (codersdk.OAuth2ClientRegistrationRequest, error) {
	req, err := rest.Decode[codersdk.OAuth2ClientRegistrationRequest](r)
	if codersdk.Is(err, codersdk.CodeInvalid) {
		return req, &oauth2provider.Failure{Code: oauth2provider.InvalidClientMetadata, Description: rest.UserMessage(err)}
	}
	return req, err
}

func (c *API) postRegister(w http.ResponseWriter, r *http.Request) error {
	req, err := metadata(r)
	if err != nil {
		return err
	}
	out, err := c.Provider.Register(r.Context(), origin(r), req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, out)
}

func (c *API) getClient(w http.ResponseWriter, r *http.Request) error {
	out, err := c.Provider.Registered(r.Context(), r.PathValue("client_id"), bearer(r))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (c *API) putClient(w http.ResponseWriter, r *http.Request) error {
	req, err := metadata(r)
	if err != nil {
		return err
	}
	out, err := c.Provider.UpdateRegistered(r.Context(), origin(r), r.PathValue("client_id"), bearer(r), req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (c *API) deleteClient(w http.ResponseWriter, r *http.Request) error {
	if err := c.Provider.DeleteRegistered(r.Context(), origin(r), r.PathValue("client_id"), bearer(r)); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}
