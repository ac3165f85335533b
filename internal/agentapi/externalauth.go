package agentapi

import (
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// externalAuth serves GET /workspaceagents/me/external-auth: the token of the
// workspace's owner at a provider. With listen the response waits until the
// owner has linked the provider. (AU-21)
func (a *API) externalAuth(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.agent(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	listen := q.Has("listen")
	if v := q.Get("listen"); v != "" {
		if listen, err = strconv.ParseBool(v); err != nil {
			return codersdk.Invalid("listen", "must be true or false")
		}
	}
	if a.c.ExternalAuth == nil {
		return codersdk.Errorf(codersdk.CodeNotFound, "No external authentication provider is configured on this deployment")
	}
	ctx, done, ok := a.open.add(r.Context(), uuid.New())
	if !ok {
		return codersdk.Errorf(codersdk.CodeUnavailable, "The server is stopping; connect again in a moment")
	}
	defer done()
	out, err := a.c.ExternalAuth(ctx, agent.OwnerID, agent.BuildID, q.Get("id"), q.Get("match"), listen)
	if err != nil && ctx.Err() != nil && r.Context().Err() == nil {
		err = codersdk.Errorf(codersdk.CodeUnavailable, "The server is stopping; connect again in a moment")
	}
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return reply(w, http.StatusOK, out)
}
