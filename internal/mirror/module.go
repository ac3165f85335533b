package mirror

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/registry"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/require"
)

// Locate returns where a module is: "" for the archive that Open returns, or else the source that its registry names.
// The mirror does not fetch every kind of source, and provisioners may have credentials that the server lacks.
func (s *Service) Locate(ctx context.Context, p providermirror.Address, version string) (source string, err error) {
	_, err = s.obtain(ctx, providermirror.Target{Address: p, Version: version})
	if elsewhere, ok := errors.AsType[*registry.ModuleError](err); ok && ctx.Err() == nil {
		return elsewhere.Source, nil
	}
	return "", err
}

// Publish stores a module of the deployment's own, whose files are a tar. A version is never replaced.
func (s *Service) Publish(
	ctx context.Context, actor access.Subject, p providermirror.Address, version string, files io.Reader,
) (providermirror.Package, error) {
	t := providermirror.Target{Address: p, Version: version}
	if err := s.mayChange(actor, t); err != nil {
		return providermirror.Package{}, err
	}
	data, err := registry.PackModule(files)
	if err != nil {
		return providermirror.Package{}, codersdk.Errorf(codersdk.CodeInvalid, "%s cannot be published: %s", t, err)
	}
	sum := sha256.Sum256(data)
	row, _, err := s.keep(ctx, t, bytes.NewReader(data), registry.Archive{Size: int64(len(data)), SHA256: sum[:], Published: true})
	if errors.Is(err, errOtherFiles) {
		return providermirror.Package{}, codersdk.Errorf(codersdk.CodeConflict, "The mirror has %s with other files; publish another version", t)
	}
	if err != nil {
		return providermirror.Package{}, err
	}
	return view(row), nil
}

// Remove removes a stored module.
func (s *Service) Remove(ctx context.Context, actor access.Subject, p providermirror.Address, version string) error {
	t := providermirror.Target{Address: p, Version: version}
	if err := s.mayChange(actor, t); err != nil {
		return err
	}
	row, err := s.Store.MirrorPackage(ctx, key(t))
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return codersdk.Errorf(codersdk.CodeNotFound, "The mirror does not have %s", t)
	}
	if err != nil {
		return err
	}
	return s.Store.MirrorDelete(ctx, row.ID)
}

// mayChange checks that actor can change a module.
func (s *Service) mayChange(actor access.Subject, t providermirror.Target) error {
	if err := mayManage(actor, codersdk.RBACActionUpdate); err != nil {
		return err
	}
	if err := s.enabled(); err != nil {
		return err
	}
	return t.Check()
}

// addModule adds a module of a template, unless it comes from no registry.
func (n *needs) addModule(ctx context.Context, template string, m require.Module) error {
	address, _, _ := strings.Cut(m.Source, "//") // before the directory
	a, err := providermirror.ParseModule(address)
	t := providermirror.Target{Address: a, Version: m.Version}
	if err != nil || t.Check() != nil {
		return nil
	}
	need := n.found[t]
	if need == nil {
		_, err := n.service.Store.MirrorPackage(ctx, key(t))
		if err != nil && !codersdk.Is(err, codersdk.CodeNotFound) {
			return err
		}
		need = &providermirror.Need{Target: t, Locked: true, Stored: err == nil}
		n.found[t] = need
	}
	if !slices.Contains(need.Templates, template) {
		need.Templates = append(need.Templates, template)
	}
	return nil
}
