package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/registry"
)

// Open returns an archive, which is fetched from its registry unless it is stored. A stored archive that is
// damaged is refused.
func (s *Service) Open(ctx context.Context, t providermirror.Target) (*Archive, error) {
	row, err := s.obtain(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := readChunks(ctx, s.Store.Queries, row, discard{}); err != nil {
		return nil, err
	}
	if err := s.Store.MirrorUse(ctx, row.ID); err != nil {
		return nil, err
	}
	return &Archive{Package: view(row), service: s, row: row}, nil
}

// obtain returns the row of an archive, which is fetched from its registry unless it is stored.
func (s *Service) obtain(ctx context.Context, t providermirror.Target) (row sqlc.MirrorPackage, err error) {
	if err := s.enabled(); err != nil {
		return row, err
	}
	if err := t.Check(); err != nil {
		return row, err
	}
	row, err = s.Store.MirrorPackage(ctx, key(t))
	if codersdk.Is(err, codersdk.CodeNotFound) {
		row, err = s.fetch(ctx, t)
	}
	return row, err
}

// discard is io.Discard without io.ReaderFrom.
type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// Pull fetches an archive from its registry unless the mirror has it undamaged.
func (s *Service) Pull(ctx context.Context, actor access.Subject, req providermirror.PullRequest) (providermirror.Package, error) {
	if err := mayManage(actor, codersdk.RBACActionUpdate); err != nil {
		return providermirror.Package{}, err
	}
	if err := s.enabled(); err != nil {
		return providermirror.Package{}, err
	}
	if err := req.Check(); err != nil {
		return providermirror.Package{}, err
	}
	row, err := s.Store.MirrorPackage(ctx, key(req.Target))
	if err == nil && readChunks(ctx, s.Store.Queries, row, discard{}) == nil {
		return view(row), nil
	}
	if err == nil || codersdk.Is(err, codersdk.CodeNotFound) {
		row, err = s.fetch(ctx, req.Target)
	}
	return view(row), err
}

// fetch downloads and stores an archive. Of several calls of this server for one archive, one downloads.
func (s *Service) fetch(ctx context.Context, t providermirror.Target) (sqlc.MirrorPackage, error) {
	if !slices.Contains(s.Upstreams, t.Hostname) {
		return sqlc.MirrorPackage{}, s.without(t.Address, false, errNoUpstream)
	}
	for {
		s.mu.Lock()
		running, ok := s.fetches[t]
		if !ok {
			s.fetches[t] = make(chan struct{})
		}
		s.mu.Unlock()
		if !ok {
			break
		}
		select {
		case <-running:
		case <-ctx.Done():
			return sqlc.MirrorPackage{}, ctx.Err()
		}
		if row, err := s.Store.MirrorPackage(ctx, key(t)); !codersdk.Is(err, codersdk.CodeNotFound) {
			return row, err
		}
		// The other call failed, perhaps because its client went away.
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.fetches[t])
		delete(s.fetches, t)
	}()
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return sqlc.MirrorPackage{}, ctx.Err()
	}
	defer func() { <-s.slots }()
	row, err := s.download(ctx, t)
	if _, ok := errors.AsType[*registry.ModuleError](err); ok {
		s.Log.Info("the mirror cannot fetch a module; provisioners fetch it themselves", "module", t.String(), "error", err)
	} else if err != nil {
		s.Log.Warn("fetching an archive failed", "archive", t.String(), "error", err)
	}
	return row, s.without(t.Address, false, err)
}

// download fetches an archive into a file, checks it and stores it.
func (s *Service) download(ctx context.Context, t providermirror.Target) (sqlc.MirrorPackage, error) {
	f, err := s.temporary()
	if err != nil {
		return sqlc.MirrorPackage{}, err
	}
	defer f.close()
	a, err := s.Registry.Download(ctx, t, f, s.MaxBytes)
	if err != nil {
		return sqlc.MirrorPackage{}, err
	}
	row, _, err := s.keep(ctx, t, f, a)
	if err == nil {
		s.Log.Info("stored an archive", "archive", t.String(), "bytes", a.Size, "signed_by", a.SignedBy)
	}
	return row, err
}

// temporary is a file that disappears with its process, where the system can do that.
type temporary struct{ *os.File }

func (s *Service) temporary() (temporary, error) {
	err := os.MkdirAll(s.Dir, 0o700)
	if err != nil {
		return temporary{}, fmt.Errorf("make the directory of downloads: %w", err)
	}
	f, err := os.CreateTemp(s.Dir, "archive-")
	if err != nil {
		return temporary{}, fmt.Errorf("make a file for a download: %w", err)
	}
	os.Remove(f.Name()) //nolint:errcheck // Windows refuses; close removes it
	return temporary{f}, nil
}

func (f temporary) close() {
	err := f.Close()
	if removed := os.Remove(f.Name()); err == nil && !errors.Is(removed, os.ErrNotExist) {
		err = removed
	}
	_ = err // nothing of it is kept
}
