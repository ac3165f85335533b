// Package mirror is the provider mirror of the server: it stores the archives of Terraform and OpenTofu
// providers, of modules, and of the programs themselves, in PostgreSQL, where every replica reads them, and fetches
// missing ones from their registries.
//
// An archive is stored after its checksum and its signature were checked, with all its chunks in one
// transaction: a server that dies during a download leaves nothing. It is checked again whenever it is
// served. The total size is bounded; the archives that were used least recently are removed first. Without
// a way to the registries the stored archives are served.
package mirror

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/registry"
)

// Config configures a Service.
type Config struct {
	// Enable is false on servers without a mirror. They only list and export what is stored.
	Enable   bool
	Store    *postgres.Store
	Registry *registry.Client
	// Upstreams are the hostnames of registries from which missing archives are fetched.
	Upstreams []string
	// MaxBytes bounds the stored archives.
	MaxBytes int64
	// Dir is for downloads in progress. It is created if missing.
	Dir string
	// Terraform and OpenTofu are the versions that provisioners without one download.
	Terraform, OpenTofu string
	// Platform is that of the built-in provisioners.
	Platform providermirror.Platform
	Log      *slog.Logger
}

// Service implements the use cases. It is safe for concurrent use.
type Service struct {
	Config
	slots chan struct{} // downloads at the same time

	mu      sync.Mutex
	fetches map[providermirror.Target]chan struct{} // closed when the download ends
}

// maxFetches bounds the downloads of one server at the same time.
const maxFetches = 4

// New returns a service.
func New(c Config) *Service {
	return &Service{Config: c, slots: make(chan struct{}, maxFetches), fetches: map[providermirror.Target]chan struct{}{}}
}

// mayManage checks that actor can read or change the settings of the deployment.
func mayManage(actor access.Subject, action codersdk.RBACAction) error {
	return actor.Check(action, access.Object{Type: codersdk.RBACResourceDeploymentConfig})
}

// enabled returns an error on servers without a mirror.
func (s *Service) enabled() error {
	if s.Enable {
		return nil
	}
	return codersdk.Errorf(codersdk.CodeNotFound, "The server has no provider mirror; start it with --mirror")
}

// Status describes the mirror. Provisioners and all users can read it.
func (s *Service) Status(ctx context.Context) (providermirror.Status, error) {
	out := providermirror.Status{MaxBytes: s.MaxBytes, Hostnames: append([]string{}, s.Upstreams...), ModuleHostnames: append([]string{}, s.Upstreams...)}
	if err := s.enabled(); err != nil {
		return out, err
	}
	hosts, err := s.Store.MirrorHostnames(ctx)
	if err != nil {
		return out, err
	}
	for _, h := range hosts {
		out.ModuleHostnames = append(out.ModuleHostnames, h.Hostname)
		if !h.Published {
			out.Hostnames = append(out.Hostnames, h.Hostname)
		}
	}
	for _, list := range []*[]string{&out.Hostnames, &out.ModuleHostnames} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	total, err := s.Store.MirrorTotal(ctx)
	out.Packages, out.Bytes = total.Packages, total.Bytes
	return out, err
}

// List returns the stored archives for administrators.
func (s *Service) List(ctx context.Context, actor access.Subject, p codersdk.Page) ([]providermirror.Package, error) {
	if err := mayManage(actor, codersdk.RBACActionRead); err != nil {
		return nil, err
	}
	rows, err := s.Store.MirrorPage(ctx, int32(p.Offset), int32(p.Limit))
	return views(rows), err
}

// views returns rows as the API shows them.
func views(rows []sqlc.MirrorPackage) []providermirror.Package {
	out := make([]providermirror.Package, 0, len(rows))
	for _, r := range rows {
		out = append(out, view(r))
	}
	return out
}

// view returns a row as the API shows it.
func view(r sqlc.MirrorPackage) providermirror.Package {
	return providermirror.Package{
		Target: target(r), Size: r.Size, SHA256: hex.EncodeToString(r.Sha256), H1: r.H1, SignedBy: r.SignedBy,
		StoredAt: r.CreatedAt.UTC(), UsedAt: r.UsedAt.UTC(),
	}
}

func target(r sqlc.MirrorPackage) providermirror.Target {
	return providermirror.Target{
		Address: providermirror.Address{Hostname: r.Hostname, Namespace: r.Namespace, Type: r.Type},
		Version: r.Version, Platform: providermirror.Platform{OS: r.Os, Arch: r.Arch},
	}
}

// Versions returns the versions of a provider or a module that are stored or that its registry has.
func (s *Service) Versions(ctx context.Context, p providermirror.Address) (providermirror.Versions, error) {
	out := providermirror.Versions{Versions: map[string]struct{}{}}
	if err := s.enabled(); err != nil {
		return out, err
	}
	stored, err := s.stored(ctx, p)
	if err != nil {
		return out, err
	}
	for _, r := range stored {
		out.Versions[r.Version] = struct{}{}
	}
	upstream, err := s.upstream(ctx, p)
	if err = s.without(p, len(stored) > 0, err); err != nil {
		return out, err
	}
	for _, v := range upstream {
		out.Versions[v.Version] = struct{}{}
	}
	return out, nil
}

// Archives returns the archives of a version that are stored or that the provider's registry has, with
// their checksums. A stored archive whose checksum is not that of the registry is refused.
func (s *Service) Archives(ctx context.Context, p providermirror.Address, version string) (providermirror.Archives, error) {
	out := providermirror.Archives{Archives: map[string]providermirror.Archive{}}
	if err := s.enabled(); err != nil {
		return out, err
	}
	if err := providermirror.CheckVersion(version); err != nil {
		return out, err
	}
	rows, err := s.stored(ctx, p)
	if err != nil {
		return out, err
	}
	rows = slices.DeleteFunc(rows, func(r sqlc.MirrorPackage) bool { return r.Version != version })
	for _, r := range rows {
		hashes := []string{zipHash(r.Sha256)}
		if r.H1 != "" { // programs have none
			hashes = []string{r.H1, zipHash(r.Sha256)}
		}
		out.Archives[target(r).Platform.String()] = providermirror.Archive{URL: target(r).Filename(), Hashes: hashes}
	}
	sums, err := s.checksums(ctx, p, version)
	if err = s.without(p, len(rows) > 0, err); err != nil {
		return out, err
	}
	for _, r := range rows {
		if sum := sums[target(r).Platform]; sum != nil && !bytes.Equal(sum, r.Sha256) {
			return out, refused(target(r), fmt.Sprintf("the stored archive has the SHA-256 %x, but its registry states %x", r.Sha256, sum))
		}
	}
	for platform, sum := range sums {
		t := providermirror.Target{Address: p, Version: version, Platform: platform}
		if _, ok := out.Archives[platform.String()]; !ok {
			out.Archives[platform.String()] = providermirror.Archive{URL: t.Filename(), Hashes: []string{zipHash(sum)}}
		}
	}
	if len(out.Archives) == 0 {
		return out, codersdk.Errorf(codersdk.CodeNotFound, "The mirror does not have %s %s", p, version)
	}
	return out, nil
}

// zipHash returns the checksum of an archive in the form of lock files.
func zipHash(sum []byte) string { return "zh:" + hex.EncodeToString(sum) }

func (s *Service) stored(ctx context.Context, p providermirror.Address) ([]sqlc.MirrorPackage, error) {
	return s.Store.MirrorOfProvider(ctx, p.Hostname, p.Namespace, p.Type)
}

// Stored returns the stored archives of a provider or a module.
func (s *Service) Stored(ctx context.Context, p providermirror.Address) ([]providermirror.Package, error) {
	if err := s.enabled(); err != nil {
		return nil, err
	}
	rows, err := s.stored(ctx, p)
	return views(rows), err
}

// errNoUpstream is the error for providers and modules of registries that are not in Upstreams.
var errNoUpstream = errors.New("its registry is not in --mirror-upstreams")

// upstream returns the versions that the registry has.
func (s *Service) upstream(ctx context.Context, p providermirror.Address) ([]registry.Version, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if !slices.Contains(s.Upstreams, p.Hostname) {
		return nil, errNoUpstream
	}
	return s.Registry.Versions(ctx, p)
}

// checksums returns the checksums that the registry states for a version; nil if the registry does not have
// the version.
func (s *Service) checksums(ctx context.Context, p providermirror.Address, version string) (map[providermirror.Platform][]byte, error) {
	versions, err := s.upstream(ctx, p)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(versions, func(v registry.Version) bool { return v.Version == version })
	if i < 0 {
		return nil, nil
	}
	return s.Registry.Checksums(ctx, p, versions[i])
}

// without returns nil if the stored archives can be used after an error of the registry, and otherwise the
// error for the client.
func (s *Service) without(p providermirror.Address, stored bool, err error) error {
	absent := codersdk.Is(err, codersdk.CodeNotFound) || errors.Is(err, errNoUpstream)
	unreachable := errors.Is(err, registry.ErrUnreachable)
	switch {
	case err == nil || stored && absent:
		return nil
	case stored && unreachable:
		s.Log.Info("the registry cannot be reached; stored archives are served", "address", p.String(), "error", err)
		return nil
	case absent:
		return codersdk.Errorf(codersdk.CodeNotFound, "The mirror does not have %s", p).WithDetail("%s", err).WithCause(err)
	case unreachable:
		return codersdk.Errorf(codersdk.CodeUnavailable,
			"The mirror does not have %s, and its registry cannot be reached; carry it in with 'coder mirror import'", p).WithCause(err)
	}
	return err
}

// refused returns the error of an archive that is not what it should be.
func refused(t providermirror.Target, why string) *codersdk.Error {
	return codersdk.Errorf(codersdk.CodePrecondition, "%s is refused: %s", t, why)
}
