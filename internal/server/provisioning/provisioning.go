// Package provisioning groups what brings jobs to provisioners: the queue, the
// provisioners' keys, their connections, and the built-in provisioners.
package provisioning

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/fairshare"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/keyring"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/provisionapi"
	"github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/provisionerd/engines"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
	"github.com/seed-2a7f8fe7/coder/internal/terraform"
)

// Config describes the provisioners.
type Config struct {
	Daemons             int           // built-in provisioners; 0: none
	PSK                 string        // that external provisioners may sign in with; "": none
	Engines             []string      // of the built-in provisioners; nil: terraform
	ForceCancelInterval time.Duration // after which a canceled job is killed, 10 minutes
}

// Check refuses values out of range.
func (c Config) Check() error {
	if c.Daemons < 0 {
		return codersdk.Errorf(codersdk.CodeInvalid, "--provisioner-daemons cannot be negative")
	}
	return nil
}

// Group is the queue and what takes jobs from it.
type Group struct {
	Queue  *queue.Service
	Keys   *keyring.Service
	API    *provisionapi.API
	shares *fairshare.Service
	base   *base.Base
	c      Config
}

// New creates the group.
func New(b *base.Base, c Config, users *identity.Service) *Group {
	g := &Group{base: b, c: c}
	g.Queue = queue.New(queue.Config{
		Store: b.Store, Hub: b.Hub, Log: b.Logger("queue"), Registerer: b.Registry, ForceCancel: c.ForceCancelInterval, Version: b.Version,
		Tracer: b.Tracer, Now: b.Now,
	})
	g.Keys = keyring.New(keyring.Config{Store: b.Store, Hub: b.Hub, Log: b.Logger("keyring")})
	g.shares = fairshare.New(fairshare.Config{Store: b.Store, Hub: b.Hub, Queue: g.Queue, Log: b.Logger("share")})
	g.API = provisionapi.New(provisionapi.Config{
		Queue: g.Queue, Keys: g.Keys, Identity: users, Log: b.Logger("provisionapi"), PSK: c.PSK, Version: b.Version, Tracer: b.Tracer,
	})
	return g
}

// AllDaemons returns the provisioners of an organization, for health reports.
func (g *Group) AllDaemons(ctx context.Context, organization uuid.UUID) ([]codersdk.ProvisionerDaemon, error) {
	return g.Queue.Daemons(ctx, access.System(), organization, queue.DaemonFilter{})
}

// Services returns what runs in the background before provisioners connect.
func (g *Group) Services() []lifecycle.Named {
	return []lifecycle.Named{
		{Name: "queue", Service: g.Queue},
		{Name: "provisioner keys", Service: g.Keys},
		{Name: "shares of provisioners", Service: g.shares},
	}
}

// Daemons returns the built-in provisioners: ordinary ones, whose connection is
// a pipe. They serve the organizations by weight. Mirror is the provider mirror of
// this server, nil for none. (PRV-01)
func (g *Group) Daemons(mirror http.Handler) ([]lifecycle.Named, error) {
	if g.c.Daemons == 0 {
		return nil, nil
	}
	types := g.c.Engines
	if len(types) == 0 {
		types = []string{"terraform"}
	}
	available, err := engines.New(types, terraform.Config{
		CacheDir: filepath.Join(g.base.CacheDir, "provisioner"), Log: g.base.Logger("terraform"), Grace: g.c.ForceCancelInterval,
		Mirror: mirror,
	})
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "server"
	}
	var all []lifecycle.Named
	for i := range g.c.Daemons {
		name := fmt.Sprintf("%s-%d", host, i)
		d, err := g.daemon(name, types, available)
		if err != nil {
			return nil, err
		}
		all = append(all, lifecycle.Named{Name: "provisioner " + name, Service: d})
	}
	return all, nil
}

func (g *Group) daemon(name string, types []string, available map[string]provisioner.Engine) (lifecycle.Service, error) {
	info := provisionapi.BuiltIn(uuid.Nil, name, g.base.Version, slices.Clone(types))
	info.Seat = g.shares.Seat(info.Daemon())
	return provisionerd.New(provisionerd.Config{
		Name: name, Engines: available, Log: g.base.Logger("provisionerd"), Registerer: g.base.Registry, ForceCancelInterval: g.c.ForceCancelInterval,
		Tracer: g.base.Tracer,
		Dial: provisionerd.Pipe(func(ctx context.Context, c net.Conn) error {
			connected := info
			connected.Tools = installedTools(ctx, g.base.Log, available)
			return g.API.ServeConn(ctx, c, connected)
		}),
	})
}

// installedTools names the Terraform or OpenTofu that the engines run. It is empty
// while none is installed: the first build downloads it, and a start of the
// server must not wait for that.
func installedTools(ctx context.Context, log *slog.Logger, available map[string]provisioner.Engine) []string {
	e, ok := available["terraform"].(*terraform.Engine)
	if !ok {
		return nil
	}
	tool, err := e.InstalledTool(ctx)
	if err != nil {
		log.WarnContext(ctx, "the Terraform of the built-in provisioners cannot be run", "error", err)
	}
	if tool == "" {
		return nil
	}
	return []string{tool}
}
