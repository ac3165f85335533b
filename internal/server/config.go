// Package server assembles the control plane: the database, the use cases, the
// edges, the built-in provisioners and the listeners. Each group of them is a
// package of its own below this one, with its configuration; this package
// starts the groups in order and stops them in the opposite order. It holds no
// rule. (CP-01)
package server

import (
	"log/slog"
	"slices"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/server/apps"
	"github.com/seed-2a7f8fe7/coder/internal/server/database"
	"github.com/seed-2a7f8fe7/coder/internal/server/directory"
	"github.com/seed-2a7f8fe7/coder/internal/server/external"
	"github.com/seed-2a7f8fe7/coder/internal/server/gitmirror"
	"github.com/seed-2a7f8fe7/coder/internal/server/mirror"
	"github.com/seed-2a7f8fe7/coder/internal/server/network"
	"github.com/seed-2a7f8fe7/coder/internal/server/notifications"
	"github.com/seed-2a7f8fe7/coder/internal/server/oauth2"
	"github.com/seed-2a7f8fe7/coder/internal/server/observability"
	"github.com/seed-2a7f8fe7/coder/internal/server/provisioning"
	"github.com/seed-2a7f8fe7/coder/internal/server/retention"
	"github.com/seed-2a7f8fe7/coder/internal/server/secrets"
	"github.com/seed-2a7f8fe7/coder/internal/server/sessions"
	"github.com/seed-2a7f8fe7/coder/internal/server/workspaces"
)

// Config is the configuration of a server. The zero value of a field means its
// default; the command line has the documented defaults. Rows of the
// reference: CP-02, CP-04, CP-07, CP-17, CP-19, AU-03, AU-04, PRV-01.
type Config struct {
	Version   string
	Log       *slog.Logger // required
	ConfigDir string       // required
	CacheDir  string       // required

	Network       network.Config
	Database      database.Config // its directories and log are those above
	Sessions      sessions.Config
	External      external.Config
	Directory     directory.Config
	OAuth2        oauth2.Config
	Secrets       secrets.Config
	Provisioning  provisioning.Config
	Mirror        mirror.Config
	GitMirror     gitmirror.Config
	Workspaces    workspaces.Config
	Apps          apps.Config
	Observability observability.Config
	Notifications notifications.Config
	Retention     retention.Config
	Pages         Pages
}

// Pages describes what browsers and downloads are served.
type Pages struct {
	BinDir  string // cross-built programs, named coder-<os>-<arch>[.exe]; "": CacheDir/bin
	Swagger bool   // serves the documentation of the API at /swagger
	// TerminalRenderer is how the dashboard's terminal draws: canvas (drawn as dom:
	// the terminal has no canvas renderer), webgl or dom; "" is canvas.
	TerminalRenderer string
}

func (p Pages) check() error {
	if r := p.TerminalRenderer; r != "" && !slices.Contains([]string{"canvas", "webgl", "dom"}, r) {
		return codersdk.Errorf(codersdk.CodeInvalid, "--web-terminal-renderer must be canvas, webgl or dom, got %q", r)
	}
	return nil
}

// database returns the configuration of the database, with what all groups share.
func (c *Config) database() database.Config {
	d := c.Database
	d.ConfigDir, d.CacheDir, d.Log, d.Traced = c.ConfigDir, c.CacheDir, c.Log, c.Observability.Traces.Enabled()
	return d
}

// directories returns the directories whose free space is exported.
func (c *Config) directories() map[string]string {
	all := map[string]string{"cache": c.CacheDir}
	if c.Database.URL == "" {
		all["database"] = c.ConfigDir // of the built-in database
	}
	return all
}

// oauth2 returns the configuration of the OAuth2 provider, which an experiment turns on, too.
func (c *Config) oauth2() oauth2.Config {
	out := c.OAuth2
	out.Enable = out.Enable || slices.Contains(c.Observability.Experiments, observability.OAuth2Experiment)
	return out
}

// check refuses what contradicts itself, before anything is started.
func (c *Config) check() error {
	if c.Log == nil || c.ConfigDir == "" || c.CacheDir == "" {
		return codersdk.Errorf(codersdk.CodeInternal, "server: Log, ConfigDir and CacheDir are required")
	}
	for _, check := range []func() error{
		c.Provisioning.Check, c.Network.Check, c.Observability.Check, c.Workspaces.Check, c.Database.Check, c.Retention.Check, c.Notifications.Check,
		c.Mirror.Check, c.GitMirror.Check, c.Pages.check,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// secrets returns the secrets of the configuration, for redaction.
func (c *Config) secrets() []string {
	return slices.Concat([]string{c.Provisioning.PSK},
		c.Sessions.Secrets(), c.External.Secrets(), c.Directory.Secrets(), c.Observability.Secrets(), c.Notifications.Secrets(), c.Database.Secrets())
}
