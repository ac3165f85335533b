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
	"time"

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

// Release is a version of a program.
type Release struct {
	providermirror.Program
	Version string
}

// Terraform returns a version of Terraform.
func Terraform(version string) Release { return Release{providermirror.Terraform(), version} }

// OpenTofu returns a version of OpenTofu.
func OpenTofu(version string) Release { return Release{providermirror.OpenTofu(), version} }

// File returns the name of the program's executable on this machine.
func (r Release) File() string {
	if runtime.GOOS == "windows" {
		return r.Name() + ".exe"
	}
	return r.Name()
}

// timeout bounds a download of at most about 100 MB, and maxBody each file of it, in bytes.
const (
	timeout = 30 * time.Minute
	maxBody = 512 << 20
)

// Install downloads a release and stores its executable in dir. It takes at most 30 minutes.
func (s Source) Install(ctx context.Context, r Release, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	download := s.terraform
	if r.Program == providermirror.OpenTofu() {
		download = s.tofu
	}
	m, address, err := netmirror.StartReleases(ctx, s.Mirror, r.Program)
	if err != nil {
		return err
	}
	err = download(ctx, r, address, dir)
	if refusal := m.Stop(); refusal != "" && err != nil {
		err = fmt.Errorf("%w; the mirror of the server: %s", err, refusal)
	}
	return err
}

// terraform downloads Terraform from an address, "" for that of its authors.
func (s Source) terraform(ctx context.Context, r Release, address, dir string) error {
	v, err := version.NewVersion(r.Version)
	if err != nil {
		return err
	}
	_, err = (&releases.ExactVersion{
		Product: product.Terraform, Version: v, InstallDir: dir, ApiBaseURL: address, ArmoredPublicKey: s.Key,
		Timeout: timeout, // instead of 30 seconds
	}).Install(ctx)
	return err
}

// tofu downloads OpenTofu from an address, "" for that of its authors.
func (s Source) tofu(ctx context.Context, r Release, address, dir string) error {
	client, done := boundedClient(maxBody)
	defer done()
	options := []tofudl.ConfigOpt{tofudl.ConfigHTTPClient(client)}
	if address != "" {
		options = append(options, tofudl.ConfigDownloadMirrorURLTemplate(address+"/"+r.Type+"/{{ .Version }}/{{ .Artifact }}"))
	}
	if s.Key != "" {
		options = append(options, tofudl.ConfigGPGKey(s.Key))
	}
	d, err := tofudl.New(options...)
	if err != nil {
		return err
	}
	on := providermirror.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}
	artifacts := tofudl.VersionWithArtifacts{ID: tofudl.Version(r.Version), Files: []string{
		r.ChecksumsName(r.Version), r.SignatureName(r.Version), providermirror.Target{Address: r.Address, Version: r.Version, Platform: on}.Filename(),
	}}
	b, err := d.DownloadVersion(ctx, artifacts, tofudl.PlatformAuto, tofudl.ArchitectureAuto)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, r.File()), b, 0o700) //nolint:gosec // a program
}

// boundedClient returns a client whose bodies fail beyond a number of bytes, because tofudl reads whole bodies into
// memory before it checks their signature. The caller calls done.
func boundedClient(limit int64) (client *http.Client, done func()) {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	return &http.Client{Transport: bounded{t, limit}}, t.CloseIdleConnections
}

// bounded is a RoundTripper whose bodies fail beyond limit bytes.
type bounded struct {
	http.RoundTripper
	limit int64
}

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, b.limit)
	}
	return resp, err
}
