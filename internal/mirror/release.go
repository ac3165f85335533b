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

// Release returns the signed checksums of a version of a program, those of a stored archive if there is one.
func (s *Service) Release(ctx context.Context, p providermirror.Program, version string) (providermirror.Release, error) {
	if err := s.enabled(); err != nil {
		return providermirror.Release{}, err
	}
	if err := providermirror.CheckVersion(version); err != nil {
		return providermirror.Release{}, err
	}
	row, err := s.Store.MirrorOfVersion(ctx, sqlc.MirrorOfVersionParams{Hostname: p.Hostname, Namespace: p.Namespace, Type: p.Type, Version: version})
	if !codersdk.Is(err, codersdk.CodeNotFound) {
		return providermirror.Release{Checksums: row.Checksums, Signature: row.Signature}, err
	}
	if !slices.Contains(s.Upstreams, p.Hostname) {
		return providermirror.Release{}, s.without(p.Address, false, errNoUpstream)
	}
	out, err := s.Registry.Release(ctx, p, version)
	return out, s.without(p.Address, false, err)
}

// checkRelease returns an error for an archive of a program that its signed checksums do not name.
func checkRelease(t providermirror.Target, a registry.Archive) error {
	if t.Kind() != providermirror.KindProgram {
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

// program adds the archives of the version of a program that provisioners download: OpenTofu if providers come from
// its registry, or else Terraform. If the mirror has no releases, they download it elsewhere.
func (n *needs) program(ctx context.Context) error {
	p, version := providermirror.Terraform(), n.service.Terraform
	if n.fallback == providermirror.OpenTofuRegistry {
		p, version = providermirror.OpenTofu(), n.service.OpenTofu
	}
	rows, err := n.service.stored(ctx, p.Address)
	if err != nil {
		return err
	}
	upstreams := n.service.Upstreams
	elsewhere := len(upstreams) > 0 && !slices.Contains(upstreams, p.Hostname) && len(rows) == 0
	if version == "" || elsewhere {
		return nil
	}
	for _, on := range n.platforms {
		t := providermirror.Target{Address: p.Address, Version: version, Platform: on}
		need := &providermirror.Need{Target: t, Locked: true, Templates: []string{}}
		for _, r := range rows {
			need.Stored = need.Stored || target(r) == t
		}
		n.found[t] = need
	}
	return nil
}
