package tools

import (
	"context"
	"net/url"
	"strconv"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/toolkit"
)

// userTools are the tools on users and their keys.
var userTools = []Tool{
	toolkit.New(toolkit.Spec{
		Name: "coder_get_authenticated_user", Title: "Get the signed-in user",
		Description: "Get the user for whom these tools act, with their roles and organizations.",
	}, getAuthenticatedUser),
	toolkit.New(toolkit.Spec{
		Name: "coder_list_users", Title: "List users",
		Description: "List the users that the signed-in user can see.",
		Scopes:      []codersdk.APIKeyScope{"user:read"},
	}, listUsers),
	toolkit.New(toolkit.Spec{
		Name: "coder_get_ssh_key", Title: "Get the git SSH key",
		Description: "Get the public key with which git in the user's workspaces authenticates over SSH.",
		Scopes:      []codersdk.APIKeyScope{"user:read_personal"},
	}, getSSHKey),
	toolkit.New(toolkit.Spec{
		Name: "coder_regenerate_ssh_key", Title: "Replace the git SSH key",
		Description: "Replace the user's SSH key for git. Git hosts refuse the new key until it is added there.",
		Effect:      toolkit.Destructive,
		Scopes:      []codersdk.APIKeyScope{"user:update_personal"},
	}, regenerateSSHKey),
}

// nothing is the input of tools without parameters.
type nothing struct{}

// userView is a user, as a tool shows it.
type userView struct {
	ID            uuid.UUID           `json:"id"`
	Username      string              `json:"username"`
	Name          string              `json:"name,omitempty"`
	Email         string              `json:"email,omitempty"`
	Status        codersdk.UserStatus `json:"status"`
	Roles         []string            `json:"roles,omitempty"`
	Organizations []organizationView  `json:"organizations,omitempty"`
}

// organizationView is an organization, as a tool shows it.
type organizationView struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

func viewUser(u codersdk.User) userView {
	v := userView{ID: u.ID, Username: u.Username, Name: u.Name, Email: u.Email, Status: u.Status}
	for _, r := range u.Roles {
		v.Roles = append(v.Roles, r.Name)
	}
	return v
}

func getAuthenticatedUser(ctx context.Context, c *Caller, _ nothing) (userView, error) {
	u, err := c.Client.User(ctx, me)
	if err != nil {
		return userView{}, err
	}
	v := viewUser(u)
	organizations, err := c.Client.UserOrganizations(ctx, me)
	for _, o := range organizations {
		v.Organizations = append(v.Organizations, organizationView{ID: o.ID, Name: o.Name})
	}
	return v, err
}

// page is the part of a list that a tool returns.
type page struct {
	Limit  int `json:"limit,omitempty" jsonschema:"Maximum number of results" min:"1" max:"100" default:"25"`
	Offset int `json:"offset,omitempty" jsonschema:"Number of results to skip" min:"0" max:"1000000" default:"0"`
}

// query returns the parameters of a list, with a search unless it is "".
func (p page) query(search string) url.Values {
	q := url.Values{"limit": {strconv.Itoa(p.Limit)}, "offset": {strconv.Itoa(p.Offset)}}
	if search != "" {
		q.Set("q", search)
	}
	return q
}

type listUsersInput struct {
	Query string `json:"query,omitempty" jsonschema:"Part of a name or email, or terms such as: status:active role:owner" max:"1000"`
	page
}

type listUsersOutput struct {
	Count int        `json:"count"` // of all matches
	Users []userView `json:"users"`
}

func listUsers(ctx context.Context, c *Caller, in listUsersInput) (listUsersOutput, error) {
	got, err := c.Client.Users(ctx, in.query(in.Query))
	out := listUsersOutput{Count: got.Count, Users: make([]userView, len(got.Users))}
	for i, u := range got.Users {
		out.Users[i] = viewUser(u)
	}
	return out, err
}

func getSSHKey(ctx context.Context, c *Caller, _ nothing) (string, error) {
	key, err := c.Client.GitSSHKey(ctx, me)
	return key.PublicKey, err
}

func regenerateSSHKey(ctx context.Context, c *Caller, _ nothing) (string, error) {
	key, err := c.Client.RegenerateGitSSHKey(ctx, me)
	return key.PublicKey, err
}
