// Package secrets groups user secrets: their rules, their endpoints, and what agents get.
package secrets

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/usersecretapi"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
	"github.com/seed-2a7f8fe7/coder/internal/usersecret"
)

// Config describes user secrets.
type Config struct{ DisableFiles bool }

// Options declares the options of the group.
func (c *Config) Options() []*option.Option {
	return option.After("web-terminal-renderer", option.Under(
		"Other",
		option.Bool(&c.DisableFiles, "disable-user-secret-file-path", "Pass user secrets to workspaces only as environment variables, never as files").
			Env("CODER_DISABLE_USER_SECRET_FILE_PATH").
			YAML("disableUserSecretFilePath").
			Def("false"),
	)...)
}

// Group is the use cases of user secrets.
type Group struct {
	Secrets   *usersecret.Service
	endpoints usersecretapi.API
}

// New creates the group.
func New(b *base.Base, c Config, users *identity.Service) *Group {
	s := usersecret.New(usersecret.Config{Store: b.Store, Hub: b.Hub, Vault: b.Vault, DisableFiles: c.DisableFiles, Now: b.Now})
	return &Group{Secrets: s, endpoints: usersecretapi.API{Secrets: s, Identity: users}}
}

// Routes returns the endpoints.
func (g *Group) Routes() []rest.Route { return g.endpoints.Routes() }

// TemplateChanged notifies the agents of a template's workspaces.
func (g *Group) TemplateChanged(id uuid.UUID) { g.Secrets.TemplateChanged(id) }

// Subscribe returns a channel that is signaled when the secrets may have changed, and its release.
func (g *Group) Subscribe(owner, template uuid.UUID) (<-chan struct{}, func()) {
	return g.Secrets.Subscribe(owner, template)
}

// ForAgent returns the secrets for the agents of an owner's workspace in the form of the protocol.
func (g *Group) ForAgent(ctx context.Context, owner, template uuid.UUID, known []byte) (*agentrpc.UserSecretsResponse, error) {
	version, values, err := g.Secrets.ForWorkspace(ctx, owner, template, known)
	if err != nil {
		return nil, err
	}
	out := &agentrpc.UserSecretsResponse{Version: version, Unchanged: string(version) == string(known)}
	for _, v := range values {
		out.Secrets = append(out.Secrets, &agentrpc.UserSecret{Name: v.Name, EnvName: v.EnvName, FilePath: v.FilePath, Value: []byte(v.Value)})
	}
	return out, nil
}
