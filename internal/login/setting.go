package login

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Kinds of settings in the database.
const (
	kindOrganization = "organization"
	kindGroups       = "groups"
	kindRoles        = "roles"
)

// Limits of settings.
const (
	maxField   = 255
	maxMapping = 5000
)

func syncObject(org uuid.UUID) access.Object {
	return access.Object{Type: codersdk.RBACResourceIdpsyncSettings, OrganizationID: org}
}

// stored reads settings; missing settings keep their values.
func stored(ctx context.Context, q *sqlc.Queries, org uuid.UUID, kind string, into any) error {
	b, err := q.SyncSetting(ctx, org, kind)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("read the settings of %s: %w", kind, err)
	}
	return nil
}

func organizationSettings(ctx context.Context, q *sqlc.Queries) (codersdk.OrganizationSyncSettings, error) {
	out := codersdk.OrganizationSyncSettings{AssignDefault: true}
	err := stored(ctx, q, uuid.Nil, kindOrganization, &out)
	if out.Mapping == nil {
		out.Mapping = map[string][]uuid.UUID{}
	}
	return out, err
}

func (s *Service) groupSettings(ctx context.Context, q *sqlc.Queries, org codersdk.Organization) (codersdk.GroupSyncSettings, error) {
	var out codersdk.GroupSyncSettings
	_, err := q.SyncSetting(ctx, org.ID, kindGroups)
	switch {
	case codersdk.Is(err, codersdk.CodeNotFound) && org.IsDefault:
		return s.flagGroups(), nil
	case codersdk.Is(err, codersdk.CodeNotFound):
	case err != nil:
		return out, err
	default:
		err = stored(ctx, q, org.ID, kindGroups, &out)
		if err != nil {
			return out, err
		}
	}
	if out.Mapping == nil {
		out.Mapping = map[string][]string{}
	}
	return out, nil
}

func roleSettings(ctx context.Context, q *sqlc.Queries, org uuid.UUID) (codersdk.RoleSyncSettings, error) {
	out := codersdk.RoleSyncSettings{}
	err := stored(ctx, q, org, kindRoles, &out)
	if out.Mapping == nil {
		out.Mapping = map[string][]string{}
	}
	return out, err
}

// OrganizationSync returns the settings that map claims to memberships.
func (s *Service) OrganizationSync(ctx context.Context, actor access.Subject) (codersdk.OrganizationSyncSettings, error) {
	if err := actor.Check(codersdk.RBACActionRead, syncObject(uuid.Nil)); err != nil {
		return codersdk.OrganizationSyncSettings{}, err
	}
	return organizationSettings(ctx, s.c.Store.Queries)
}

// GroupSync returns the settings that map claims to groups of an organization.
func (s *Service) GroupSync(ctx context.Context, actor access.Subject, org codersdk.Organization) (codersdk.GroupSyncSettings, error) {
	if err := actor.Check(codersdk.RBACActionRead, syncObject(org.ID)); err != nil {
		return codersdk.GroupSyncSettings{}, err
	}
	return s.groupSettings(ctx, s.c.Store.Queries, org)
}

// RoleSync returns the settings that map claims to roles in an organization.
func (s *Service) RoleSync(ctx context.Context, actor access.Subject, org codersdk.Organization) (codersdk.RoleSyncSettings, error) {
	if err := actor.Check(codersdk.RBACActionRead, syncObject(org.ID)); err != nil {
		return codersdk.RoleSyncSettings{}, err
	}
	return roleSettings(ctx, s.c.Store.Queries, org.ID)
}

// SetOrganizationSync changes the mapping of claims to memberships from the next sign-in of each
// user on. A mapping can name organizations that do not exist; a sign-in skips them.
func (s *Service) SetOrganizationSync(
	ctx context.Context,
	actor access.Subject,
	change func(*codersdk.OrganizationSyncSettings),
) (codersdk.OrganizationSyncSettings, error) {
	return set(ctx, s, actor, setting[codersdk.OrganizationSyncSettings]{
		kind: kindOrganization, typ: codersdk.ResourceTypeIdpSyncSettingsOrganization, change: change,
		read: organizationSettings,
		check: func(_ *sqlc.Queries, v codersdk.OrganizationSyncSettings) error {
			return checkMapping(v.Field, v.Mapping)
		},
	})
}

// SetGroupSync changes the mapping of claims to groups of an organization. A mapping can name
// groups that do not exist; a sign-in skips them.
func (s *Service) SetGroupSync(
	ctx context.Context,
	actor access.Subject,
	org codersdk.Organization,
	change func(*codersdk.GroupSyncSettings),
) (codersdk.GroupSyncSettings, error) {
	return set(ctx, s, actor, setting[codersdk.GroupSyncSettings]{
		org: org, kind: kindGroups, typ: codersdk.ResourceTypeIdpSyncSettingsGroup, change: change,
		read: func(ctx context.Context, q *sqlc.Queries) (codersdk.GroupSyncSettings, error) {
			return s.groupSettings(ctx, q, org)
		},
		check: func(_ *sqlc.Queries, v codersdk.GroupSyncSettings) error {
			if err := checkMapping(v.Field, v.Mapping); err != nil {
				return err
			}
			for name, ids := range v.Mapping {
				for _, id := range ids {
					if _, err := uuid.Parse(id); err != nil {
						return codersdk.Invalid("mapping", "%.64q: %.64q is not the ID of a group", name, id)
					}
				}
			}
			return nil
		},
	})
}

// SetRoleSync changes the mapping of claims to roles in an organization. Users cannot map to a
// role with more permissions than their own.
func (s *Service) SetRoleSync(
	ctx context.Context,
	actor access.Subject,
	org codersdk.Organization,
	change func(*codersdk.RoleSyncSettings),
) (codersdk.RoleSyncSettings, error) {
	return set(ctx, s, actor, setting[codersdk.RoleSyncSettings]{
		org: org, kind: kindRoles, typ: codersdk.ResourceTypeIdpSyncSettingsRole, change: change,
		read: func(ctx context.Context, q *sqlc.Queries) (codersdk.RoleSyncSettings, error) {
			return roleSettings(ctx, q, org.ID)
		},
		check: func(q *sqlc.Queries, v codersdk.RoleSyncSettings) error {
			known, err := rolesOf(ctx, q, org.ID)
			if err != nil {
				return err
			}
			old, err := roleSettings(ctx, q, org.ID)
			if err != nil {
				return err
			}
			for name, roles := range v.Mapping {
				for _, r := range roles {
					if slices.Contains(old.Mapping[name], r) {
						continue // the role may have been deleted
					}
					if known[r].Name == "" {
						return codersdk.Invalid("mapping", "%.64q: role %.64q not found in %s", name, r, org.Name)
					}
					if err := actor.CheckHolds(known[r], org.ID); err != nil { // users can grant only permissions that they have
						return err
					}
				}
			}
			return checkMapping(v.Field, v.Mapping)
		},
	})
}

// setting is a change of settings.
type setting[T any] struct {
	org    codersdk.Organization // zero for the deployment
	kind   string
	typ    codersdk.ResourceType
	read   func(context.Context, *sqlc.Queries) (T, error)
	change func(*T)
	check  func(*sqlc.Queries, T) error
}

// set changes settings under a row lock, so that concurrent changes are not lost.
func set[T any](ctx context.Context, s *Service, actor access.Subject, c setting[T]) (T, error) {
	var out T
	if err := actor.Check(codersdk.RBACActionUpdate, syncObject(c.org.ID)); err != nil {
		return out, err
	}
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if _, err := q.SyncSettingForUpdate(ctx, c.org.ID, c.kind); err != nil && !codersdk.Is(err, codersdk.CodeNotFound) {
			return err
		}
		old, err := c.read(ctx, q)
		if err != nil {
			return err
		}
		if out, err = c.read(ctx, q); err != nil { // independent of old, with its own maps
			return err
		}
		c.change(&out)
		if err := c.check(q, out); err != nil {
			return err
		}
		b, err := json.Marshal(out)
		if err != nil {
			return fmt.Errorf("store settings: %w", err)
		}
		if err := q.SyncPutSetting(ctx, sqlc.SyncPutSettingParams{OrganizationID: c.org.ID, Kind: c.kind, Value: b, Now: s.now()}); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionWrite, ResourceType: c.typ, ResourceID: c.org.ID, OrganizationID: c.org.ID,
			Target: either(c.org.Name, "deployment"), Diff: audit.Diff(old, out),
		})
	})
	return out, err
}

func checkMapping[T any](field string, mapping map[string][]T) error {
	if len(field) > maxField {
		return codersdk.Invalid("field", "is longer than %d characters", maxField)
	}
	n := 0
	for name, v := range mapping {
		n += 1 + len(v)
		if name == "" || len(name) > maxField {
			return codersdk.Invalid("mapping", "names of the identity provider have 1 to %d characters", maxField)
		}
	}
	if n > maxMapping {
		return codersdk.Invalid("mapping", "has more than %d entries", maxMapping)
	}
	return nil
}

// Remap adds and removes entries of a mapping. Entries in both lists are removed, and names
// without entries are dropped.
func Remap[T comparable](mapping map[string][]T, add, remove []codersdk.IDPSyncMapping[T]) map[string][]T {
	if mapping == nil {
		mapping = map[string][]T{}
	}
	for _, m := range add {
		if !slices.Contains(mapping[m.Given], m.Gets) {
			mapping[m.Given] = append(mapping[m.Given], m.Gets)
		}
	}
	for _, m := range remove {
		mapping[m.Given] = slices.DeleteFunc(mapping[m.Given], func(v T) bool { return v == m.Gets })
		if len(mapping[m.Given]) == 0 {
			delete(mapping, m.Given)
		}
	}
	return mapping
}

// ClaimFields returns the names of the claims that providers have sent, of the members of an
// organization, or of all users for the nil ID. At most 1000.
func (s *Service) ClaimFields(ctx context.Context, actor access.Subject, org uuid.UUID) ([]string, error) {
	if err := actor.Check(codersdk.RBACActionRead, syncObject(org)); err != nil {
		return nil, err
	}
	return s.c.Store.ClaimFields(ctx, org)
}

// ClaimValues returns the distinct values of one claim. At most 1000.
func (s *Service) ClaimValues(ctx context.Context, actor access.Subject, org uuid.UUID, field string) ([]string, error) {
	if err := actor.Check(codersdk.RBACActionRead, syncObject(org)); err != nil {
		return nil, err
	}
	if field == "" {
		return nil, codersdk.Invalid("claimField", "the name of a claim is required")
	}
	return s.c.Store.ClaimValues(ctx, field, org)
}
