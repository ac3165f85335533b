package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/go-version"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/registry"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/require"
)

// maxPlatforms bounds the platforms of one request.
const maxPlatforms = 16

// Needs returns the archives that provisioners and the active versions of all templates require, on the given
// platforms, or on that of the server. Providers without a hostname come from the registry of fallback.
func (s *Service) Needs(
	ctx context.Context, actor access.Subject, fallback string, platforms []providermirror.Platform,
) ([]providermirror.Need, error) {
	if err := mayManage(actor, codersdk.RBACActionRead); err != nil {
		return nil, err
	}
	if err := s.enabled(); err != nil {
		return nil, err
	}
	if fallback == "" {
		fallback = providermirror.TerraformRegistry
	}
	if err := providermirror.CheckHostname("registry", fallback); err != nil {
		return nil, err
	}
	if len(platforms) > maxPlatforms {
		return nil, codersdk.Invalid("platform", "at most %d platforms are allowed", maxPlatforms)
	}
	if len(platforms) == 0 {
		platforms = []providermirror.Platform{s.Platform}
	}
	templates, err := s.Store.MirrorTemplates(ctx)
	if err != nil {
		return nil, err
	}
	n := needs{
		service: s, fallback: fallback, platforms: platforms,
		versions: map[providermirror.Address]known{}, found: map[providermirror.Target]*providermirror.Need{},
	}
	for _, t := range templates {
		if err := n.read(ctx, t); err != nil {
			return nil, fmt.Errorf("template %s/%s: %w", t.Organization, t.Template, err)
		}
	}
	if err := n.program(ctx); err != nil {
		return nil, err
	}
	return n.list()
}

// needs collects the archives of templates.
type needs struct {
	service   *Service
	fallback  string
	platforms []providermirror.Platform
	versions  map[providermirror.Address]known
	found     map[providermirror.Target]*providermirror.Need
}

// known is what is known of the versions of a provider.
type known struct {
	versions []string
	stored   map[providermirror.Target]bool
	problem  string
}

// read adds the archives of one template.
func (n *needs) read(ctx context.Context, t sqlc.MirrorTemplatesRow) error {
	source, err := n.service.Store.FileData(ctx, t.FileID)
	if err != nil {
		return err
	}
	var modules []byte
	if t.ModuleFilesID != nil {
		if modules, err = n.service.Store.FileData(ctx, *t.ModuleFilesID); err != nil {
			return err
		}
	}
	name := t.Organization + "/" + t.Template
	providers, used, err := require.Read(source, modules)
	if err != nil {
		n.service.Log.Warn("the requirements of a template cannot be read", "template", name, "error", err)
		return nil // its import would have failed the same way
	}
	for _, m := range used {
		if err := n.addModule(ctx, name, m); err != nil {
			return err
		}
	}
	for _, p := range providers {
		address, err := providermirror.ParseProvider(p.Source, n.fallback)
		if err != nil {
			continue // Terraform refuses it, too
		}
		if err := n.add(ctx, name, address, p); err != nil {
			return err
		}
	}
	return nil
}

// add adds the archives of one provider of a template.
func (n *needs) add(ctx context.Context, template string, address providermirror.Address, p require.Provider) error {
	k, err := n.known(ctx, address)
	if err != nil {
		return err
	}
	constraints, problem, chosen := strings.Join(p.Constraints, ", "), "", p.Locked
	if chosen == "" {
		if chosen, err = newest(k.versions, constraints); err != nil {
			problem = cmp.Or(k.problem, err.Error())
		}
	}
	for _, platform := range n.platforms {
		t := providermirror.Target{Address: address, Version: chosen, Platform: platform}
		need := n.found[t]
		if need == nil {
			need = &providermirror.Need{Target: t, Locked: p.Locked != "", Stored: k.stored[t], Problem: problem}
			n.found[t] = need
		}
		if constraints != "" && !strings.Contains(need.Constraints, constraints) {
			need.Constraints = strings.TrimPrefix(need.Constraints+", "+constraints, ", ")
		}
		if !slices.Contains(need.Templates, template) {
			need.Templates = append(need.Templates, template)
		}
	}
	return nil
}

// known returns the versions of a provider that are stored or that its registry has.
func (n *needs) known(ctx context.Context, p providermirror.Address) (known, error) {
	if k, ok := n.versions[p]; ok {
		return k, nil
	}
	k := known{stored: map[providermirror.Target]bool{}}
	rows, err := n.service.stored(ctx, p)
	if err != nil {
		return k, err
	}
	for _, r := range rows {
		k.versions = append(k.versions, r.Version)
		k.stored[target(r)] = true
	}
	upstream, err := n.service.upstream(ctx, p)
	switch {
	case errors.Is(err, errNoUpstream), codersdk.Is(err, codersdk.CodeNotFound):
		k.problem = "its registry is unknown, or does not have it"
	case errors.Is(err, registry.ErrUnreachable):
		k.problem = "its registry cannot be reached"
	case err != nil && ctx.Err() != nil:
		return k, err
	case err != nil:
		k.problem = err.Error()
	}
	for _, v := range upstream {
		k.versions = append(k.versions, v.Version)
	}
	n.versions[p] = k
	return k, nil
}

// newest returns the newest version that fulfills the constraints.
func newest(versions []string, constraints string) (string, error) {
	wanted := version.Constraints{}
	if constraints != "" {
		var err error
		if wanted, err = version.NewConstraint(constraints); err != nil {
			return "", fmt.Errorf("the constraints %q are not valid", constraints)
		}
	}
	var best *version.Version
	for _, text := range versions {
		v, err := version.NewVersion(text)
		if err != nil || !wanted.Check(v) || len(wanted) == 0 && v.Prerelease() != "" {
			continue
		}
		if best == nil || v.GreaterThan(best) {
			best = v
		}
	}
	if best == nil {
		return "", errors.New("no version fulfills the constraints")
	}
	return best.Original(), nil
}

// list returns the archives by name. More than an export can carry are an error.
func (n *needs) list() ([]providermirror.Need, error) {
	if len(n.found) > maxCarried {
		return nil, codersdk.Errorf(codersdk.CodeTooLarge, "The templates need more than %d archives; ask for fewer platforms", maxCarried)
	}
	out := make([]providermirror.Need, 0, len(n.found))
	for _, need := range n.found {
		out = append(out, *need)
	}
	slices.SortFunc(out, func(a, b providermirror.Need) int {
		return cmp.Or(cmp.Compare(a.Address.String(), b.Address.String()), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Platform.String(), b.Platform.String()))
	})
	return out, nil
}
