// Package install downloads Terraform and OpenTofu, and checks the signatures of their authors.
package install

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

// Source is where programs are downloaded from.
type Source struct {
	// Mirror passes requests to the provider mirror of the server; nil for none. Programs that it does not have come
	// from the sites with their releases.
	Mirror http.Handler
	// Key is the armored key that signs the releases. Empty means that of the program's authors.
	Key string
}

// Terraform downloads a version of Terraform into dir.
func (s Source) Terraform(ctx context.Context, release, dir string) error {
	return s.with(ctx, providermirror.Terraform(), func(address string) error {
		v := &releases.ExactVersion{
			Product: product.Terraform, Version: version.Must(version.NewVersion(release)), InstallDir: dir,
			ApiBaseURL: address, ArmoredPublicKey: s.Key,
		}
		_, err := v.Install(ctx)
		return err
	})
}

// OpenTofu downloads a version of OpenTofu into dir, as the file name.
func (s Source) OpenTofu(ctx context.Context, release, dir, name string) error {
	program := providermirror.OpenTofu()
	on := providermirror.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}
	files := []string{
		program.ChecksumsName(release), program.SignatureName(release),
		providermirror.Target{Address: program.Address, Version: release, Platform: on}.Filename(),
	}
	return s.with(ctx, program, func(address string) error {
		transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
		defer transport.CloseIdleConnections()
		options := []tofudl.ConfigOpt{tofudl.ConfigHTTPClient(&http.Client{Transport: transport})}
		if address != "" {
			options = append(options, tofudl.ConfigDownloadMirrorURLTemplate(address+"/opentofu/{{ .Version }}/{{ .Artifact }}"))
		}
		if s.Key != "" {
			options = append(options, tofudl.ConfigGPGKey(s.Key))
		}
		d, err := tofudl.New(options...)
		if err != nil {
			return err
		}
		b, err := d.DownloadVersion(ctx, tofudl.VersionWithArtifacts{ID: tofudl.Version(release), Files: files}, tofudl.PlatformAuto, tofudl.ArchitectureAuto)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), b, 0o700) //nolint:gosec // a program
	})
}

// with calls download with the address that replaces that of the site with the releases of a program, "" for
// none. Its error has what the mirror of the server answered.
func (s Source) with(ctx context.Context, p providermirror.Program, download func(address string) error) error {
	m, address, err := netmirror.StartReleases(ctx, s.Mirror, p)
	if err != nil {
		return err
	}
	err = download(address)
	if refusal := m.Stop(); refusal != "" && err != nil {
		err = fmt.Errorf("%w; the mirror of the server: %s", err, refusal)
	}
	return err
}
