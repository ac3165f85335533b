package agentapi

import (
	"context"
	"net/http"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/instance"
)

// instanceRoutes serves agents that have no token yet, and prove their machine
// by what its cloud says of it. (AG-02)
func (a *API) instanceRoutes() {
	const base = "POST /api/v2/workspaceagents/"
	a.handle(base+"aws-instance-identity", proven(a, func(v *instance.Verifier, _ context.Context, t coder.AWSInstanceIdentityToken) (string, error) {
		return v.AWS(t)
	}))
	a.handle(base+"azure-instance-identity", proven(a, (*instance.Verifier).Azure))
	a.handle(base+"google-instance-identity", proven(a, (*instance.Verifier).Google))
}

func proven[T any](a *API, verify func(*instance.Verifier, context.Context, T) (string, error)) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if a.c.Instances == nil {
			return coder.Errorf(coder.CodeUnavailable, "This server believes no cloud")
		}
		req, err := decode[T](w, r)
		if err != nil {
			return err
		}
		id, err := verify(a.c.Instances, r.Context(), req)
		if err != nil {
			return err
		}
		token, err := a.c.Presence.AuthenticateInstance(r.Context(), id)
		if err != nil {
			return err
		}
		return reply(w, http.StatusOK, coder.AuthenticateResponse{SessionToken: token})
	}
}
