// Package gitmirror groups the git mirror: its options and its use case.
package gitmirror

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agentapi"
	"github.com/seed-2a7f8fe7/coder/internal/gitmirror"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
)

// Config describes the mirror.
type Config struct {
	Enable   bool
	MaxBytes int64 // of all copies
}

// Options declares the options of the group.
func (c *Config) Options() []*option.Option {
	return option.Under(
		"Git mirror",
		option.Bool(&c.Enable, "git-mirror", "Keep copies of git repositories of external authentication providers for 'coder git clone' in workspaces").
			Env("CODER_GIT_MIRROR").
			YAML("gitMirror.enable").
			Def("false"),
		option.Int(&c.MaxBytes, "git-mirror-max-bytes", "Total size of the copies in the cache directory in bytes; the least recently used are removed first").
			Env("CODER_GIT_MIRROR_MAX_BYTES").
			YAML("gitMirror.maxBytes").
			Def("21474836480"),
	)
}

// Check refuses values out of range, and a machine without git.
func (c *Config) Check() error {
	if !c.Enable {
		return nil
	}
	if c.MaxBytes <= 0 {
		return codersdk.Errorf(codersdk.CodeInvalid, "--git-mirror-max-bytes must be positive")
	}
	if _, err := exec.LookPath("git"); err != nil {
		return codersdk.Errorf(codersdk.CodeInvalid, "--git-mirror needs git, which is not in PATH; install it, or set --git-mirror=false")
	}
	return nil
}

// Group is the mirror.
type Group struct {
	mirror      *gitmirror.Mirror // nil: not enabled
	credentials Credentials
}

// Credentials returns the token of an agent's owner at the provider with an ID, or at that of a git remote.
type Credentials func(ctx context.Context, ownerID, buildID uuid.UUID, id, match string, listen bool) (codersdk.ExternalAuthResponse, error)

// New creates the group.
func New(b *base.Base, c Config, credentials Credentials) *Group {
	g := &Group{credentials: credentials}
	if c.Enable {
		g.mirror = gitmirror.New(gitmirror.Config{
			Dir: filepath.Join(b.CacheDir, "git"), MaxBytes: c.MaxBytes, Log: b.Logger("gitmirror"), Registerer: b.Registry, Now: b.Now,
		})
	}
	return g
}

// Services returns what runs in the background.
func (g *Group) Services() []lifecycle.Named {
	if g.mirror == nil {
		return nil
	}
	return []lifecycle.Named{{Name: "git mirror", Service: g.mirror}}
}

// Seed opens the copy of a repository for an agent, with the credentials of its owner. Only repositories of external
// authentication providers are copied, so that agents cannot make the server contact other hosts.
func (g *Group) Seed(ctx context.Context, ownerID, buildID uuid.UUID, raw string, create bool) (agentapi.GitSeed, error) {
	if g.mirror == nil {
		return nil, codersdk.Errorf(codersdk.CodeNotFound, "This deployment has no git mirror")
	}
	remote, err := gitmirror.CheckURL(raw)
	if err != nil {
		return nil, err
	}
	owner, err := g.credentials(ctx, ownerID, buildID, "", remote, false)
	if err != nil {
		return nil, err
	}
	seed, err := g.mirror.Open(ctx, gitmirror.Remote{URL: remote, Username: owner.Username, Password: owner.Password}, create)
	if errors.Is(err, gitmirror.ErrUpdating) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return seed, nil
}
