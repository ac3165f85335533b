package mirror

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/registry"
)

// Release returns the signed checksums of a version of Terraform, those of a stored archive if there is one.
func (s *Service) Release(ctx context.Context, version string) (providermirror.Release, error) {
	if err := s.enabled(); err != nil {
		return providermirror.Release{}, err
	}
	if err := providermirror.CheckVersion(version); err != nil {
		return providermirror.Release{}, err
	}
	p := providermirror.Terraform()
	row, err := s.Store.MirrorOfVersion(ctx, sqlc.MirrorOfVersionParams{Hostname: p.Hostname, Namespace: p.Namespace, Type: p.Type, Version: version})
	if !codersdk.Is(err, codersdk.CodeNotFound) {
		return providermirror.Release{Checksums: row.Checksums, Signature: row.Signature}, err
	}
	if !slices.Contains(s.Upstreams, providermirror.Releases) {
		return providermirror.Release{}, s.without(p, false, errNoUpstream)
	}
	out, err := s.Registry.Release(ctx, version)
	return out, s.without(p, false, err)
}

// checkRelease returns an error for an archive of Terraform that its signed checksums do not name.
func checkRelease(t providermirror.Target, a registry.Archive) error {
	if t.Kind() != providermirror.KindTerraform {
		return nil
	}
	if want := providermirror.ParseChecksums(a.Release.Checksums)[t.Filename()]; !bytes.Equal(want, a.SHA256) {
		return refused(t, fmt.Sprintf("its SHA-256 is %x, but its release states %x", a.SHA256, want))
	}
	if len(a.Release.Signature) == 0 {
		return refused(t, "its checksums are not signed")
	}
	return nil
}

// terraform adds the archives of the version of Terraform that provisioners download. If the mirror only fetches
// providers, they download it elsewhere.
func (n *needs) terraform(ctx context.Context) error {
	rows, err := n.service.stored(ctx, providermirror.Terraform())
	if err != nil {
		return err
	}
	upstreams := n.service.Upstreams
	elsewhere := len(upstreams) > 0 && !slices.Contains(upstreams, providermirror.Releases) && len(rows) == 0
	if n.service.Terraform == "" || elsewhere {
		return nil
	}
	for _, p := range n.platforms {
		t := providermirror.Target{Address: providermirror.Terraform(), Version: n.service.Terraform, Platform: p}
		need := &providermirror.Need{Target: t, Locked: true, Templates: []string{}}
		for _, r := range rows {
			need.Stored = need.Stored || target(r) == t
		}
		n.found[t] = need
	}
	return nil
}
