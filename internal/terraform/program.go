package terraform

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hc-install/product"
	"github.com/hashicorp/hc-install/releases"
	"github.com/opentofu/tofudl"

	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/netmirror"
)

// fetchTerraform downloads Terraform into dir, from the mirror of the server if it has Terraform. It checks
// HashiCorp's signature.
func (e *Engine) fetchTerraform(ctx context.Context, dir string) error {
	return e.withReleases(ctx, providermirror.Terraform(), func(address string) error {
		v := &releases.ExactVersion{
			Product: product.Terraform, Version: version.Must(version.NewVersion(WantedVersion)), InstallDir: dir,
			ApiBaseURL: address, ArmoredPublicKey: e.config.ReleaseKey,
		}
		_, err := v.Install(ctx)
		return err
	})
}

// fetchTofu downloads OpenTofu into dir, from the mirror of the server if it has OpenTofu. It checks the signature of
// OpenTofu's authors.
func (e *Engine) fetchTofu(ctx context.Context, dir string) error {
	program := providermirror.OpenTofu()
	on := providermirror.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}
	files := []string{
		program.ChecksumsName(WantedTofu), program.SignatureName(WantedTofu),
		providermirror.Target{Address: program.Address, Version: WantedTofu, Platform: on}.Filename(),
	}
	return e.withReleases(ctx, program, func(address string) error {
		transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
		defer transport.CloseIdleConnections()
		options := []tofudl.ConfigOpt{tofudl.ConfigHTTPClient(&http.Client{Transport: transport})}
		if address != "" {
			options = append(options, tofudl.ConfigDownloadMirrorURLTemplate(address+"/opentofu/{{ .Version }}/{{ .Artifact }}"))
		}
		if e.config.ReleaseKey != "" {
			options = append(options, tofudl.ConfigGPGKey(e.config.ReleaseKey))
		}
		d, err := tofudl.New(options...)
		if err != nil {
			return err
		}
		b, err := d.DownloadVersion(ctx, tofudl.VersionWithArtifacts{ID: WantedTofu, Files: files}, tofudl.PlatformAuto, tofudl.ArchitectureAuto)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, exe("tofu")), b, 0o700) //nolint:gosec // a program
	})
}

// withReleases calls download with the address that replaces that of the site with the releases of a program, "" for
// none. Its error has what the mirror of the server answered.
func (e *Engine) withReleases(ctx context.Context, p providermirror.Program, download func(address string) error) error {
	m, address, err := netmirror.StartReleases(ctx, e.config.Mirror, p)
	if err != nil {
		return err
	}
	err = download(address)
	if refusal := m.Stop(); refusal != "" && err != nil {
		err = fmt.Errorf("%w; the mirror of the server: %s", err, refusal)
	}
	return err
}
