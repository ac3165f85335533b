package httpapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
)

// keyRoutes are sessions, API tokens, their scopes, and permission questions.
func (a *API) keyRoutes() []Route {
	const key = coder.RBACResourceAPIKey
	return []Route{
		{Method: "POST", Path: "/users/{user}/keys", Summary: "Make a session key", Action: coder.RBACActionCreate, Resource: key, Out: coder.GenerateAPIKeyResponse{}, Status: 201, Handler: a.postKey},
		{Method: "GET", Path: "/users/{user}/keys/tokens", Summary: "List API tokens", Query: paged(Param{"include_all", "boolean", "Those of all users, as far as they may be seen."}, Param{"include_expired", "boolean", "Those that have run out, too."}), Action: coder.RBACActionRead, Resource: key, Out: []coder.APIKey{}, Handler: a.getTokens},
		{Method: "POST", Path: "/users/{user}/keys/tokens", Summary: "Make an API token", Action: coder.RBACActionCreate, Resource: key, In: coder.CreateTokenRequest{}, Out: coder.GenerateAPIKeyResponse{}, Status: 201, Handler: a.postToken},
		{Method: "GET", Path: "/users/{user}/keys/tokens/tokenconfig", Summary: "How long a token may live", Action: coder.RBACActionRead, Resource: key, Out: coder.TokenConfig{}, Handler: a.getTokenConfig},
		{Method: "GET", Path: "/users/{user}/keys/tokens/{keyname}", Summary: "One API token by name", Action: coder.RBACActionRead, Resource: key, Out: coder.APIKey{}, Handler: a.getToken},
		{Method: "GET", Path: "/users/{user}/keys/{keyid}", Summary: "One key by id", Action: coder.RBACActionRead, Resource: key, Out: coder.APIKey{}, Handler: a.getKey},
		{Method: "DELETE", Path: "/users/{user}/keys/{keyid}", Summary: "Delete a key", Action: coder.RBACActionDelete, Resource: key, Status: 204, Handler: a.deleteKey},
		{Method: "PUT", Path: "/users/{user}/keys/{keyid}/expire", Summary: "End a key but keep its row", Action: coder.RBACActionUpdate, Resource: key, Status: 204, Handler: a.expireKey},
		{Method: "GET", Path: "/users/{user}/sessions", Summary: "List sessions", Query: paged(), Action: coder.RBACActionRead, Resource: key, Out: []coder.Session{}, Handler: a.getSessions},
		{Method: "DELETE", Path: "/users/{user}/sessions", Summary: "End all sessions but this", Action: coder.RBACActionDelete, Resource: key, Status: 204, Handler: a.deleteSessions},
		{Method: "POST", Path: "/authcheck", Summary: "Ask what one may do", In: coder.AuthorizationRequest{}, Out: coder.AuthorizationResponse{}, Handler: a.postAuthCheck},
		{Method: "GET", Path: "/auth/scopes", Summary: "The scopes that tokens may have", Auth: AuthPublic, Out: coder.ExternalAPIKeyScopes{}, Handler: a.getScopes},
	}
}

func (a *API) postKey(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Identity.CreateSessionKey(r.Context(), a.actor(r), r.PathValue("user"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, out)
}

func (a *API) getTokens(w http.ResponseWriter, r *http.Request) error {
	all, err := queryBool(r, "include_all")
	if err != nil {
		return err
	}
	expired, err := queryBool(r, "include_expired")
	if err != nil {
		return err
	}
	p, err := pageOf(r)
	if err != nil {
		return err
	}
	out, err := a.Identity.Tokens(r.Context(), a.actor(r), r.PathValue("user"), all, expired, p)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) postToken(w http.ResponseWriter, r *http.Request) error {
	req, err := decode[coder.CreateTokenRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Identity.CreateToken(r.Context(), a.actor(r), r.PathValue("user"), req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, out)
}

func (a *API) getTokenConfig(w http.ResponseWriter, r *http.Request) error {
	return show(w, r, a.actor(r), a.Identity.TokenConfig)
}

func (a *API) getToken(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Identity.Token(r.Context(), a.actor(r), r.PathValue("user"), r.PathValue("keyname"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) getKey(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Identity.Key(r.Context(), a.actor(r), r.PathValue("user"), r.PathValue("keyid"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) deleteKey(w http.ResponseWriter, r *http.Request) error {
	if err := a.Identity.DeleteKey(r.Context(), a.actor(r), r.PathValue("user"), r.PathValue("keyid")); err != nil {
		return err
	}
	return done(w)
}

func (a *API) expireKey(w http.ResponseWriter, r *http.Request) error {
	if err := a.Identity.ExpireKey(r.Context(), a.actor(r), r.PathValue("user"), r.PathValue("keyid")); err != nil {
		return err
	}
	return done(w)
}

func (a *API) getSessions(w http.ResponseWriter, r *http.Request) error {
	return showPage(w, r, a.actor(r), a.Identity.Sessions)
}

func (a *API) deleteSessions(w http.ResponseWriter, r *http.Request) error {
	if err := a.Identity.EndSessions(r.Context(), a.actor(r), r.PathValue("user")); err != nil {
		return err
	}
	return done(w)
}

func (a *API) postAuthCheck(w http.ResponseWriter, r *http.Request) error {
	req, err := decode[coder.AuthorizationRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Identity.AuthCheck(r.Context(), a.actor(r), req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) getScopes(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, http.StatusOK, coder.ExternalAPIKeyScopes{External: access.PublicScopes()})
}
