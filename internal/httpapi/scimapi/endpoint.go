package scimapi

import (
	"context"
	"net/http"

	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/scim"
)

// listed returns the endpoint of a list of resources.
func (a *API) listed(get func(context.Context, scim.Query) (scim.Resource, error)) endpoint {
	return func(_ access.Subject, r *http.Request) (int, any, error) {
		q, err := query(r)
		if err != nil {
			return 0, nil, err
		}
		out, err := get(r.Context(), q)
		return http.StatusOK, out, err
	}
}

// shown returns the endpoint of one resource.
func (a *API) shown(get func(context.Context, string, scim.Query) (scim.Resource, error)) endpoint {
	return func(_ access.Subject, r *http.Request) (int, any, error) {
		q, err := query(r)
		if err != nil {
			return 0, nil, err
		}
		out, err := get(r.Context(), r.PathValue("id"), q)
		return http.StatusOK, out, err
	}
}

// created returns the endpoint that creates a resource.
func (a *API) created(create func(context.Context, access.Subject, map[string]any) (scim.Resource, error)) endpoint {
	return func(actor access.Subject, r *http.Request) (int, any, error) {
		in, err := body(r)
		if err != nil {
			return 0, nil, err
		}
		out, err := create(r.Context(), actor, in)
		return http.StatusCreated, out, err
	}
}

// changed returns an endpoint that changes a resource.
func (a *API) changed(change func(context.Context, access.Subject, string, map[string]any) (scim.Resource, error)) endpoint {
	return func(actor access.Subject, r *http.Request) (int, any, error) {
		in, err := body(r)
		if err != nil {
			return 0, nil, err
		}
		out, err := change(r.Context(), actor, r.PathValue("id"), in)
		return http.StatusOK, out, err
	}
}

// deleted returns the endpoint that deletes a resource.
func (a *API) deleted(remove func(context.Context, access.Subject, string) error) endpoint {
	return func(actor access.Subject, r *http.Request) (int, any, error) {
		return http.StatusNoContent, nil, remove(r.Context(), actor, r.PathValue("id"))
	}
}
