package login

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Kinds of settings, as the database has them.
const (
	kindOrganization = "organization"
	kindGroups       = "groups"
	kindRoles        = "roles"
)

// Bounds of settings.
const (
	maxField   = 255
	maxMapping = 5000
)

func syncObject(org uuid.UUID) access.Object {
	return access.Object{Type: coder.RBACResourceIdpsyncSettings, OrganizationID: org}
}

// stored reads settings; what was never set is left as it is.
func stored(ctx context.Context, q *sqlc.Queries, org uuid.UUID, kind string, into any) error {
	b, err := q.SyncSetting(ctx, org, kind)
	if coder.Is(err, coder.CodeNotFound) {
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

func organizationSettings(ctx context.Context, q *sqlc.Queries) (coder.OrganizationSyncSettings, error) {
	out := coder.OrganizationSyncSettings{AssignDefault: true}
	err := stored(ctx, q, uuid.Nil, kindOrganization, &out)
	if out.Mapping == nil {
		out.Mapping = map[string][]uuid.UUID{}
	}
	return out, err
}

func (s *Service) groupSettings(ctx context.Context, q *sqlc.Queries, org coder.Organization) (coder.GroupSyncSettings, error) {
	var out coder.GroupSyncSettings
	_, err := q.SyncSetting(ctx, org.ID, kindGroups)
	switch {
	case coder.Is(err, coder.CodeNotFound) && org.IsDefault:
		return s.flagGroups(), nil
	case coder.Is(err, coder.CodeNotFound):
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

func roleSettings(ctx context.Context, q *sqlc.Queries, org uuid.UUID) (coder.RoleSyncSettings, error) {
	out := coder.RoleSyncSettings{}
	err := stored(ctx, q, org, kindRoles, &out)
	if out.Mapping == nil {
		out.Mapping = map[string][]string{}
	}
	return out, err
}

// OrganizationSync gives how claims become memberships.
func (s *Service) OrganizationSync(ctx context.Context, actor access.Subject) (coder.OrganizationSyncSettings, error) {
	if err := actor.Check(coder.RBACActionRead, syncObject(uuid.Nil)); err != nil {
		return coder.OrganizationSyncSettings{}, err
	}
	return organizationSettings(ctx, s.c.Store.Queries)
}

// GroupSync gives how claims become groups of an organization.
func (s *Service) GroupSync(ctx context.Context, actor access.Subject, org coder.Organization) (coder.GroupSyncSettings, error) {
	if err := actor.Check(coder.RBACActionRead, syncObject(org.ID)); err != nil {
		return coder.GroupSyncSettings{}, err
	}
	return s.groupSettings(ctx, s.c.Store.Queries, org)
}

// RoleSync gives how claims become roles in an organization.
func (s *Service) RoleSync(ctx context.Context, actor access.Subject, org coder.Organization) (coder.RoleSyncSettings, error) {
	if err := actor.Check(coder.RBACActionRead, syncObject(org.ID)); err != nil {
		return coder.RoleSyncSettings{}, err
	}
	return roleSettings(ctx, s.c.Store.Queries, org.ID)
}

// SetOrganizationSync changes how claims become memberships, from the next
// login of everybody on.
func (s *Service) SetOrganizationSync(ctx context.Context, actor access.Subject, change func(*coder.OrganizationSyncSettings)) (coder.OrganizationSyncSettings, error) {
	return set(ctx, s, actor, setting[coder.OrganizationSyncSettings]{
		kind: kindOrganization, typ: coder.ResourceTypeIdpSyncSettingsOrganization, change: change,
		read: organizationSettings,
		check: func(q *sqlc.Queries, v coder.OrganizationSyncSettings) error {
			if err := checkMapping(v.Field, v.Mapping); err != nil {
				return err
			}
			old, err := organizationSettings(ctx, q)
			if err != nil {
				return err
			}
			for name, ids := range v.Mapping {
				for _, id := range ids {
					if slices.Contains(old.Mapping[name], id) {
						continue // it may be deleted since
					}
					if _, err := q.OrganizationByID(ctx, id); coder.Is(err, coder.CodeNotFound) {
						return coder.Invalid("mapping", "%.64q: there is no organization %s", name, id)
					} else if err != nil {
						return err
					}
				}
			}
			return nil
		},
	})
}

// SetGroupSync changes how claims become groups of an organization.
func (s *Service) SetGroupSync(ctx context.Context, actor access.Subject, org coder.Organization, change func(*coder.GroupSyncSettings)) (coder.GroupSyncSettings, error) {
	return set(ctx, s, actor, setting[coder.GroupSyncSettings]{
		org: org, kind: kindGroups, typ: coder.ResourceTypeIdpSyncSettingsGroup, change: change,
		read: func(ctx context.Context, q *sqlc.Queries) (coder.GroupSyncSettings, error) {
			return s.groupSettings(ctx, q, org)
		},
		check: func(q *sqlc.Queries, v coder.GroupSyncSettings) error {
			if err := checkMapping(v.Field, v.Mapping); err != nil {
				return err
			}
			old, err := s.groupSettings(ctx, q, org)
			if err != nil {
				return err
			}
			for name, texts := range v.Mapping {
				var ids []uuid.UUID
				for _, t := range texts {
					if slices.Contains(old.Mapping[name], t) {
						continue // it may be deleted since
					}
					id, err := uuid.Parse(t)
					if err != nil {
						return coder.Invalid("mapping", "%.64q: %.64q is not the id of a group", name, t)
					}
					ids = append(ids, id)
				}
				known, err := q.GroupsAmong(ctx, org.ID, ids)
				if err != nil {
					return err
				}
				for _, id := range ids {
					if !slices.Contains(known, id) {
						return coder.Invalid("mapping", "%.64q: there is no group %s in %s", name, id, org.Name)
					}
				}
			}
			return nil
		},
	})
}

// SetRoleSync changes how claims become roles in an organization. Nobody maps
// to a role that permits more than they may themselves.
func (s *Service) SetRoleSync(ctx context.Context, actor access.Subject, org coder.Organization, change func(*coder.RoleSyncSettings)) (coder.RoleSyncSettings, error) {
	return set(ctx, s, actor, setting[coder.RoleSyncSettings]{
		org: org, kind: kindRoles, typ: coder.ResourceTypeIdpSyncSettingsRole, change: change,
		read: func(ctx context.Context, q *sqlc.Queries) (coder.RoleSyncSettings, error) {
			return roleSettings(ctx, q, org.ID)
		},
		check: func(q *sqlc.Queries, v coder.RoleSyncSettings) error {
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
						continue // it may be deleted since
					}
					if known[r].Name == "" {
						return coder.Invalid("mapping", "%.64q: there is no role %.64q in %s", name, r, org.Name)
					}
					if err := actor.CheckHolds(known[r], org.ID); err != nil { // nobody gives what they have not
						return err
					}
				}
			}
			return checkMapping(v.Field, v.Mapping)
		},
	})
}

// setting is one change of settings.
type setting[T any] struct {
	org    coder.Organization // zero: the deployment
	kind   string
	typ    coder.ResourceType
	read   func(context.Context, *sqlc.Queries) (T, error)
	change func(*T)
	check  func(*sqlc.Queries, T) error
}

// set changes settings, with a lock on the row so that nobody overwrites what
// another changed meanwhile.
func set[T any](ctx context.Context, s *Service, actor access.Subject, c setting[T]) (T, error) {
	var out T
	if err := actor.Check(coder.RBACActionUpdate, syncObject(c.org.ID)); err != nil {
		return out, err
	}
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if _, err := q.SyncSettingForUpdate(ctx, c.org.ID, c.kind); err != nil && !coder.Is(err, coder.CodeNotFound) {
			return err
		}
		old, err := c.read(ctx, q)
		if err != nil {
			return err
		}
		if out, err = c.read(ctx, q); err != nil { // apart from old, with maps of its own
			return err
		}
		c.change(&out)
		if err := c.check(q, out); err != nil {
			return err
		}
		b, err := json.Marshal(out)
		if err != nil {
			return fmt.Errorf("keep settings: %w", err)
		}
		if err := q.SyncPutSetting(ctx, sqlc.SyncPutSettingParams{OrganizationID: c.org.ID, Kind: c.kind, Value: b, Now: s.now()}); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: coder.AuditActionWrite, ResourceType: c.typ, ResourceID: c.org.ID, OrganizationID: c.org.ID,
			Target: either(c.org.Name, "deployment"), Diff: audit.Diff(old, out),
		})
	})
	return out, err
}

func checkMapping[T any](field string, mapping map[string][]T) error {
	if len(field) > maxField {
		return coder.Invalid("field", "is longer than %d characters", maxField)
	}
	n := 0
	for name, v := range mapping {
		n += 1 + len(v)
		if name == "" || len(name) > maxField {
			return coder.Invalid("mapping", "names of the identity provider have 1 to %d characters", maxField)
		}
	}
	if n > maxMapping {
		return coder.Invalid("mapping", "has more than %d entries", maxMapping)
	}
	return nil
}

// Remap adds and removes entries of a mapping. What is in both is removed; a
// name that gets nothing any more is forgotten.
func Remap[T comparable](mapping map[string][]T, add, remove []coder.IDPSyncMapping[T]) map[string][]T {
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

// ClaimFields names the claims that providers sent so far: of the members of an
// organization, with the nil id of everybody. At most 1000.
func (s *Service) ClaimFields(ctx context.Context, actor access.Subject, org uuid.UUID) ([]string, error) {
	if err := actor.Check(coder.RBACActionRead, syncObject(org)); err != nil {
		return nil, err
	}
	return s.c.Store.ClaimFields(ctx, org)
}

// ClaimValues gives the values that one claim had, each once. At most 1000.
func (s *Service) ClaimValues(ctx context.Context, actor access.Subject, org uuid.UUID, field string) ([]string, error) {
	if err := actor.Check(coder.RBACActionRead, syncObject(org)); err != nil {
		return nil, err
	}
	if field == "" {
		return nil, coder.Invalid("claimField", "the name of a claim is required")
	}
	return s.c.Store.ClaimValues(ctx, field, org)
}
