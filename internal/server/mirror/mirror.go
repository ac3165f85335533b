// Package mirror groups the provider mirror: its options, its use cases and its endpoints.
package mirror

import (
	"log/slog"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/mirrorapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/mirror"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
	"github.com/seed-2a7f8fe7/coder/internal/terraform"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/registry"
)

// Config describes the mirror.
type Config struct {
	Enable    bool
	Upstreams []string // hostnames of registries
	MaxBytes  int64    // of all archives
	// Transport requests the registries; nil means one with the proxies of the environment.
	Transport http.RoundTripper
}

// Options declares the options of the group.
func (c *Config) Options() []*option.Option {
	return option.Under(
		"Provisioning",
		option.Bool(&c.Enable, "mirror", "Store Terraform, OpenTofu, and the providers and modules of templates for provisioners").
			Env("CODER_MIRROR").
			YAML("provisioning.mirror.enable").
			Def("false"),
		option.List(&c.Upstreams, "mirror-upstreams", "Registries of missing providers and modules, and sites with Terraform and OpenTofu; \"\" for none").
			Env("CODER_MIRROR_UPSTREAMS").
			YAML("provisioning.mirror.upstreams").
			Def(strings.Join([]string{
				providermirror.TerraformRegistry, providermirror.OpenTofuRegistry, providermirror.CoderRegistry,
				providermirror.TerraformReleases, providermirror.TofuReleases,
			}, ",")),
		option.Int(&c.MaxBytes, "mirror-max-bytes", "Total size of the stored archives in bytes; the least recently used are removed first").
			Env("CODER_MIRROR_MAX_BYTES").
			YAML("provisioning.mirror.maxBytes").
			Def("10737418240"),
	)
}

// Check refuses values out of range.
func (c *Config) Check() error {
	if c.Enable && c.MaxBytes <= 0 {
		return codersdk.Errorf(codersdk.CodeInvalid, "--mirror-max-bytes must be positive")
	}
	for _, h := range c.Upstreams {
		if err := providermirror.CheckHostname("--mirror-upstreams", h); err != nil {
			return codersdk.Errorf(codersdk.CodeInvalid, "--mirror-upstreams: %.80q is not a hostname", h)
		}
	}
	return nil
}

// Group is the mirror.
type Group struct {
	api    mirrorapi.API
	enable bool
	log    *slog.Logger
}

// New creates the group. authenticate checks the credentials of users and provisioners.
func New(b *base.Base, c Config, authenticate func(*http.Request) error) *Group {
	service := mirror.New(mirror.Config{
		Enable: c.Enable, Store: b.Store, Registry: registry.New(c.Transport, b.Now), Upstreams: c.Upstreams, MaxBytes: c.MaxBytes,
		Terraform: terraform.WantedVersion, OpenTofu: terraform.WantedTofu,
		Dir: filepath.Join(b.CacheDir, "mirror"), Platform: providermirror.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}, Log: b.Logger("mirror"),
	})
	return &Group{api: mirrorapi.API{Mirror: service, Authenticate: authenticate}, enable: c.Enable, log: b.Logger("mirror")}
}

// Routes returns the endpoints.
func (g *Group) Routes() []rest.Route { return g.api.Routes() }

// Mounts returns the endpoints of the OCI distribution protocol by http.ServeMux pattern; none without a mirror.
func (g *Group) Mounts() map[string]http.Handler {
	if !g.enable {
		return nil
	}
	return mirrorapi.NewOCI(&g.api, g.log).Mounts()
}

// Provisioner serves the mirror to the built-in provisioners; nil without a mirror.
func (g *Group) Provisioner() http.Handler {
	if !g.enable {
		return nil
	}
	return g.api.ServeProvisioner()
}
