package httpapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// keyRoutes are sessions, API tokens, their scopes, and permission checks.
func (a *API) keyRoutes() []rest.Route {
	const key = codersdk.RBACResourceAPIKey
	return []rest.Route{
		{Method: "POST", Path: "/users/{user}/keys", Summary: "Create a session key",
			Action: codersdk.RBACActionCreate, Resource: key, Out: codersdk.GenerateAPIKeyResponse{}, Status: 201, Handler: a.postKey},
		{Method: "GET", Path: "/users/{user}/keys/tokens", Summary: "List API tokens",
			Query: rest.Paged(
				rest.Param{Name: "include_all", Type: "boolean", About: "Include the tokens of all users that you may read."},
				rest.Param{Name: "include_expired", Type: "boolean", About: "Include expired tokens."},
			),
			Action: codersdk.RBACActionRead, Resource: key, Out: []codersdk.APIKeyWithOwner{}, Handler: a.getTokens},
		{Method: "POST", Path: "/users/{user}/keys/tokens", Summary: "Create an API token",
			Action: codersdk.RBACActionCreate, Resource: key, In: codersdk.CreateTokenRequest{}, Out: codersdk.GenerateAPIKeyResponse{},
			Status: 201, Handler: a.postToken},
		{Method: "GET", Path: "/users/{user}/keys/tokens/tokenconfig", Summary: "Get the maximum token lifetime",
			Action: codersdk.RBACActionRead, Resource: key, Out: codersdk.TokenConfig{}, Handler: a.getTokenConfig},
		{Method: "GET", Path: "/users/{user}/keys/tokens/{keyname}", Summary: "Get an API token by name",
			Action: codersdk.RBACActionRead, Resource: key, Out: codersdk.APIKey{}, Handler: a.getToken},
		{Method: "GET", Path: "/users/{user}/keys/{keyid}", Summary: "Get a key by id",
			Action: codersdk.RBACActionRead, Resource: key, Out: codersdk.APIKey{}, Handler: a.getKey},
		{Method: "DELETE", Path: "/users/{user}/keys/{keyid}", Summary: "Delete a key",
			Action: codersdk.RBACActionDelete, Resource: key, Status: 204, Handler: a.deleteKey},
		{Method: "PUT", Path: "/users/{user}/keys/{keyid}/expire", Summary: "Expire a key",
			Action: codersdk.RBACActionUpdate, Resource: key, Status: 204, Handler: a.expireKey},
		{Method: "GET", Path: "/users/{user}/sessions", Summary: "List sessions",
			Query:  rest.Paged(),
			Action: codersdk.RBACActionRead, Resource: key, Out: []codersdk.Session{}, Handler: a.getSessions},
		{Method: "DELETE", Path: "/users/{user}/sessions", Summary: "Revoke all sessions except the current one",
			Action: codersdk.RBACActionDelete, Resource: key, Status: 204, Handler: a.deleteSessions},
		{Method: "POST", Path: "/authcheck", Summary: "Check permissions",
			In: codersdk.AuthorizationRequest{}, Out: codersdk.AuthorizationResponse{}, Handler: a.postAuthCheck},
		{Method: "GET", Path: "/auth/scopes", Summary: "List token scopes",
			Auth: rest.AuthPublic, Out: codersdk.ExternalAPIKeyScopes{}, Handler: a.getScopes},
	}
}

func (a *API) postKey(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Identity.CreateSessionKey(r.Context(), rest.Actor(r), r.PathValue("user"))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, out)
}

func (a *API) getTokens(w http.ResponseWriter, r *http.Request) error {
	all, err := rest.QueryBool(r, "include_all")
	if err != nil {
		return err
	}
	expired, err := rest.QueryBool(r, "include_expired")
	if err != nil {
		return err
	}
	p, err := rest.PageOf(r)
	if err != nil {
		return err
	}
	out, err := a.Identity.Tokens(r.Context(), rest.Actor(r), r.PathValue("user"), all, expired, p)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) postToken(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.CreateTokenRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Identity.CreateToken(r.Context(), rest.Actor(r), r.PathValue("user"), req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, out)
}

func (a *API) getTokenConfig(w http.ResponseWriter, r *http.Request) error {
	return rest.ReplyForUser(w, r, rest.Actor(r), a.Identity.TokenConfig)
}

func (a *API) getToken(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Identity.Token(r.Context(), rest.Actor(r), r.PathValue("user"), r.PathValue("keyname"))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) getKey(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Identity.Key(r.Context(), rest.Actor(r), r.PathValue("user"), r.PathValue("keyid"))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) deleteKey(w http.ResponseWriter, r *http.Request) error {
	if err := a.Identity.DeleteKey(r.Context(), rest.Actor(r), r.PathValue("user"), r.PathValue("keyid")); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (a *API) expireKey(w http.ResponseWriter, r *http.Request) error {
	if err := a.Identity.ExpireKey(r.Context(), rest.Actor(r), r.PathValue("user"), r.PathValue("keyid")); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (a *API) getSessions(w http.ResponseWriter, r *http.Request) error {
	return rest.ReplyPageForUser(w, r, rest.Actor(r), a.Identity.Sessions)
}

func (a *API) deleteSessions(w http.ResponseWriter, r *http.Request) error {
	if err := a.Identity.EndSessions(r.Context(), rest.Actor(r), r.PathValue("user")); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (a *API) postAuthCheck(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.AuthorizationRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Identity.AuthCheck(r.Context(), rest.Actor(r), req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) getScopes(w http.ResponseWriter, _ *http.Request) error {
	return rest.Reply(w, http.StatusOK, codersdk.ExternalAPIKeyScopes{External: access.PublicScopes()})
}
