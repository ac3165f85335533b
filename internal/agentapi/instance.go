package agentapi

import (
	"context"
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/instance"
)

// instanceRoutes authenticates agents that have no token yet, by the instance
// identity document of their cloud. (AG-02)
func (a *API) instanceRoutes() {
	const base = "POST /api/v2/workspaceagents/"
	a.handle(base+"aws-instance-identity", proven(a, func(v *instance.Verifier, _ context.Context, t codersdk.AWSInstanceIdentityToken) (string, error) {
		return v.AWS(t)
	}, func(t codersdk.AWSInstanceIdentityToken) string { return t.AgentName }))
	a.handle(base+"azure-instance-identity", proven(a, (*instance.Verifier).Azure, func(t codersdk.AzureInstanceIdentityToken) string { return t.AgentName }))
	a.handle(base+"google-instance-identity", proven(a, (*instance.Verifier).Google, func(t codersdk.GoogleInstanceIdentityToken) string { return t.AgentName }))
}

// proven authenticates an agent: verify returns the ID of the instance, and name the name of the agent.
func proven[T any](
	a *API,
	verify func(*instance.Verifier, context.Context, T) (string, error),
	name func(T) string,
) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if a.c.Instances == nil {
			return codersdk.Errorf(codersdk.CodeUnavailable, "Instance identity is not enabled on this server")
		}
		req, err := decode[T](w, r)
		if err != nil {
			return err
		}
		id, err := verify(a.c.Instances, r.Context(), req)
		if err != nil {
			return err
		}
		token, err := a.c.Presence.AuthenticateInstance(r.Context(), id, name(req))
		if err != nil {
			return err
		}
		return reply(w, http.StatusOK, codersdk.AuthenticateResponse{SessionToken: token})
	}
}
