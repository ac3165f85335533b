package oauth2api

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// Routes returns the endpoints that manage applications.
func (c *API) Routes() []rest.Route {
	const app, secret, consent = codersdk.RBACResourceOauth2App, codersdk.RBACResourceOauth2AppSecret, codersdk.RBACResourceOauth2AppCodeToken
	const settings = codersdk.RBACResourceDeploymentConfig
	return []rest.Route{
		{Method: "GET", Path: "/oauth2-provider/apps", Summary: "List OAuth2 applications",
			Query:  rest.Paged(rest.Param{Name: "user_id", Type: "string", About: "User ID or me: only the applications that act for this user."}),
			Action: codersdk.RBACActionRead, Resource: app, Out: []codersdk.OAuth2ProviderApp{}, Handler: c.getApps},
		{Method: "POST", Path: "/oauth2-provider/apps", Summary: "Create an OAuth2 application",
			Action: codersdk.RBACActionCreate, Resource: app, In: codersdk.PostOAuth2ProviderAppRequest{}, Out: codersdk.OAuth2ProviderApp{},
			Status: 201, Handler: c.postApp},
		{Method: "GET", Path: "/oauth2-provider/apps/{app}", Summary: "Get an OAuth2 application",
			Action: codersdk.RBACActionRead, Resource: app, Out: codersdk.OAuth2ProviderApp{}, Handler: c.getApp},
		{Method: "PUT", Path: "/oauth2-provider/apps/{app}", Summary: "Update an OAuth2 application",
			About:  "Without redirect URIs or a scope the current ones stay.",
			Action: codersdk.RBACActionUpdate, Resource: app, In: codersdk.PutOAuth2ProviderAppRequest{}, Out: codersdk.OAuth2ProviderApp{}, Handler: c.putApp},
		{Method: "DELETE", Path: "/oauth2-provider/apps/{app}", Summary: "Delete an OAuth2 application and all its tokens",
			Action: codersdk.RBACActionDelete, Resource: app, Status: 204, Handler: c.deleteApp},
		{Method: "GET", Path: "/oauth2-provider/apps/{app}/secrets", Summary: "List the secrets of an OAuth2 application",
			Action: codersdk.RBACActionRead, Resource: secret, Out: []codersdk.OAuth2ProviderAppSecret{}, Handler: c.getSecrets},
		{Method: "POST", Path: "/oauth2-provider/apps/{app}/secrets", Summary: "Create a secret of an OAuth2 application",
			About:  "The value is returned once.",
			Action: codersdk.RBACActionCreate, Resource: secret, Out: codersdk.OAuth2ProviderAppSecretFull{}, Status: 201, Handler: c.postSecret},
		{Method: "DELETE", Path: "/oauth2-provider/apps/{app}/secrets/{secretID}", Summary: "Delete a secret of an OAuth2 application and its tokens",
			Action: codersdk.RBACActionDelete, Resource: secret, Status: 204, Handler: c.deleteSecret},
		{Method: "GET", Path: "/oauth2-provider/grants", Summary: "List the OAuth2 applications that act for the user",
			Query:  rest.Paged(),
			Action: codersdk.RBACActionRead, Resource: consent, Out: []codersdk.OAuth2ProviderGrant{}, Handler: c.getGrants},
		{Method: "GET", Path: "/oauth2-provider/settings", Summary: "Get the settings of the OAuth2 provider",
			Action: codersdk.RBACActionRead, Resource: settings, Out: codersdk.OAuth2ProviderSettings{}, Handler: c.getSettings},
		{Method: "PUT", Path: "/oauth2-provider/settings", Summary: "Update the settings of the OAuth2 provider",
			Action: codersdk.RBACActionUpdate, Resource: settings, In: codersdk.OAuth2ProviderSettings{}, Out: codersdk.OAuth2ProviderSettings{},
			Handler: c.putSettings},
	}
}

func (c *API) getApps(w http.ResponseWriter, r *http.Request) error {
	p, err := rest.PageOf(r)
	if err != nil {
		return err
	}
	out, err := c.Provider.Apps(r.Context(), rest.Actor(r), r.URL.Query().Get("user_id"), p)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (c *API) postApp(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.PostOAuth2ProviderAppRequest](r)
	if err != nil {
		return err
	}
	out, err := c.Provider.CreateApp(r.Context(), rest.Actor(r), req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, out)
}

func (c *API) getApp(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "app")
	if err != nil {
		return err
	}
	out, err := c.Provider.App(r.Context(), rest.Actor(r), id)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (c *API) putApp(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "app")
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.PutOAuth2ProviderAppRequest](r)
	if err != nil {
		return err
	}
	out, err := c.Provider.UpdateApp(r.Context(), rest.Actor(r), id, req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (c *API) deleteApp(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "app")
	if err != nil {
		return err
	}
	if err := c.Provider.DeleteApp(r.Context(), rest.Actor(r), id); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (c *API) getSecrets(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "app")
	if err != nil {
		return err
	}
	out, err := c.Provider.Secrets(r.Context(), rest.Actor(r), id)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (c *API) postSecret(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "app")
	if err != nil {
		return err
	}
	out, err := c.Provider.CreateSecret(r.Context(), rest.Actor(r), id)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, out)
}

func (c *API) deleteSecret(w http.ResponseWriter, r *http.Request) error {
	app, err := rest.PathID(r, "app")
	if err != nil {
		return err
	}
	id, err := rest.PathID(r, "secretID")
	if err != nil {
		return err
	}
	if err := c.Provider.DeleteSecret(r.Context(), rest.Actor(r), app, id); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (c *API) getGrants(w http.ResponseWriter, r *http.Request) error {
	p, err := rest.PageOf(r)
	if err != nil {
		return err
	}
	out, err := c.Provider.Grants(r.Context(), rest.Actor(r), p)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (c *API) getSettings(w http.ResponseWriter, r *http.Request) error {
	return rest.ServeResult(c.Provider.Settings)(w, r)
}

func (c *API) putSettings(w http.ResponseWriter, r *http.Request) error {
	return rest.ServeChange(c.Provider.PutSettings)(w, r)
}
