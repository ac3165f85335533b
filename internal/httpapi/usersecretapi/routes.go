// Package usersecretapi serves the endpoints of user secrets.
package usersecretapi

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/usersecret"
)

// API holds the dependencies of the endpoints.
type API struct {
	Secrets  *usersecret.Service
	Identity *identity.Service // finds the users that paths name
}

// Routes returns the endpoints.
func (a *API) Routes() []rest.Route {
	const secret = codersdk.RBACResourceUserSecret
	const list, one = "/users/{user}/secrets", "/users/{user}/secrets/{secret}"
	return []rest.Route{
		{Method: "GET", Path: list, Summary: "List the secrets of a user", About: "Values are never returned.",
			Action: codersdk.RBACActionRead, Resource: secret, Out: []codersdk.UserSecret{}, Handler: a.list},
		{Method: "POST", Path: list, Summary: "Create a secret of a user",
			About:  "Each workspace of the user gets the value as an environment variable, a file, or both.",
			Action: codersdk.RBACActionCreate, Resource: secret, In: codersdk.CreateUserSecretRequest{}, Out: codersdk.UserSecret{}, Status: 201, Handler: a.create},
		{Method: "POST", Path: list + "/batch", Summary: "Create the secrets of a file",
			About:  "All secrets of the file are created, or none. Secrets that exist are never changed.",
			Action: codersdk.RBACActionCreate, Resource: secret, In: codersdk.CreateUserSecretsRequest{}, Out: []codersdk.UserSecret{}, Status: 201,
			Handler: a.createBatch},
		{Method: "GET", Path: one, Summary: "Get a secret of a user", About: "The value is never returned.",
			Action: codersdk.RBACActionRead, Resource: secret, Out: codersdk.UserSecret{}, Handler: a.get},
		{Method: "PATCH", Path: one, Summary: "Update a secret of a user", About: "Fields that are not in the body stay as they are.",
			Action: codersdk.RBACActionUpdate, Resource: secret, In: codersdk.UpdateUserSecretRequest{}, Out: codersdk.UserSecret{}, Handler: a.update},
		{Method: "DELETE", Path: one, Summary: "Delete a secret of a user",
			Action: codersdk.RBACActionDelete, Resource: secret, Status: 204, Handler: a.delete},
	}
}

// user returns the ID of the user that the path names.
func (a *API) user(r *http.Request) (uuid.UUID, error) {
	return a.Identity.OwnerByRef(r.Context(), rest.Actor(r), r.PathValue("user"))
}

func (a *API) list(w http.ResponseWriter, r *http.Request) error {
	user, err := a.user(r)
	if err != nil {
		return err
	}
	out, err := a.Secrets.List(r.Context(), rest.Actor(r), user)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) create(w http.ResponseWriter, r *http.Request) error {
	user, err := a.user(r)
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.CreateUserSecretRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Secrets.Create(r.Context(), rest.Actor(r), user, req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, out)
}

func (a *API) createBatch(w http.ResponseWriter, r *http.Request) error {
	user, err := a.user(r)
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.CreateUserSecretsRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Secrets.CreateBatch(r.Context(), rest.Actor(r), user, req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, out)
}

func (a *API) get(w http.ResponseWriter, r *http.Request) error {
	user, err := a.user(r)
	if err != nil {
		return err
	}
	out, err := a.Secrets.Get(r.Context(), rest.Actor(r), user, r.PathValue("secret"))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) update(w http.ResponseWriter, r *http.Request) error {
	user, err := a.user(r)
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.UpdateUserSecretRequest](r)
	if err != nil {
		return err
	}
	out, err := a.Secrets.Update(r.Context(), rest.Actor(r), user, r.PathValue("secret"), req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) delete(w http.ResponseWriter, r *http.Request) error {
	user, err := a.user(r)
	if err != nil {
		return err
	}
	if err := a.Secrets.Delete(r.Context(), rest.Actor(r), user, r.PathValue("secret")); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}
