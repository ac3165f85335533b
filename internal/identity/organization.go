package identity

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// maxRows bounds one page of any list here.
const maxRows = 1000

// seenOrganizations says which organizations the actor may see: all, or these.
func seenOrganizations(actor access.Subject) (all bool, ids []uuid.UUID) {
	f := actor.Filter(coder.RBACResourceOrganization)
	return f.All, append([]uuid.UUID{}, f.OrganizationIDs...)
}

// Organizations lists the organizations that the actor may see, the default
// one first.
func (s *Service) Organizations(ctx context.Context, actor access.Subject, page coder.Page) ([]coder.Organization, error) {
	all, ids := seenOrganizations(actor)
	rows, err := s.c.Store.Organizations(ctx, sqlc.OrganizationsParams{SeeAll: all, SeeIds: ids, RowLimit: page.Rows(maxRows), RowOffset: page.Skip()})
	return organizations(rows), err
}

// UserOrganizations lists a page of a user's organizations that the actor may see.
func (s *Service) UserOrganizations(ctx context.Context, actor access.Subject, ref string, page coder.Page) ([]coder.Organization, error) {
	u, err := s.userRow(ctx, s.c.Store.Queries, actor, ref)
	if err != nil {
		return nil, err
	}
	if err := actor.Check(coder.RBACActionRead, userObject(u.ID)); err != nil {
		return nil, err
	}
	all, ids := seenOrganizations(actor)
	rows, err := s.c.Store.OrganizationsOfUser(ctx, sqlc.OrganizationsOfUserParams{
		UserID: u.ID, SeeAll: all, SeeIds: ids, RowLimit: page.Rows(maxRows), RowOffset: page.Skip(),
	})
	return organizations(rows), err
}

func organizations(rows []sqlc.Organization) []coder.Organization {
	out := make([]coder.Organization, len(rows))
	for i, r := range rows {
		out[i] = shownOrganization(r)
	}
	return out
}

// checkOrganization checks the texts of an organization.
func checkOrganization(name, displayName, description, icon string) error {
	if err := coder.CheckName("name", name); err != nil {
		return err
	}
	if strings.EqualFold(name, "default") {
		return coder.Invalid("name", `"default" is the word for the default organization`)
	}
	if len(description) > 1000 {
		return coder.Invalid("description", "is longer than 1000 characters")
	}
	if err := coder.CheckIcon("icon", icon); err != nil {
		return err
	}
	return coder.CheckDisplayName("display_name", displayName)
}

// CreateOrganization makes an organization, with the actor as its
// administrator. Built-in provisioners serve it when it is
// given a weight. (AU-16)
func (s *Service) CreateOrganization(ctx context.Context, actor access.Subject, req coder.CreateOrganizationRequest) (coder.Organization, error) {
	var out coder.Organization
	if err := actor.Check(coder.RBACActionCreate, access.Object{Type: coder.RBACResourceOrganization}); err != nil {
		return out, err
	}
	if err := checkOrganization(req.Name, req.DisplayName, req.Description, req.Icon); err != nil {
		return out, err
	}
	if req.DisplayName == "" {
		req.DisplayName = req.Name
	}
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		row, err := q.InsertOrganization(ctx, sqlc.InsertOrganizationParams{
			ID: uuid.New(), Name: req.Name, DisplayName: req.DisplayName, Description: req.Description, Icon: req.Icon, Now: s.now(),
		})
		if err != nil {
			return taken(err)
		}
		if actor.UserID != uuid.Nil {
			_, err := q.InsertOrganizationMember(ctx, sqlc.InsertOrganizationMemberParams{
				OrganizationID: row.ID, UserID: actor.UserID, Roles: []string{access.RoleOrganizationAdmin}, Now: s.now(),
			})
			if err != nil {
				return fmt.Errorf("make creator a member: %w", err)
			}
		}
		out = shownOrganization(row)
		return s.recordOrganization(ctx, q, actor, coder.AuditActionCreate, out, audit.Diff(nil, out))
	})
	return out, err
}

// provisionerWeight checks a weight to be set. What one organization gets of
// the server's own provisioners others do not, so it is not for their own
// administrators to say.
func provisionerWeight(actor access.Subject, weight int) (int32, error) {
	if !actor.Can(coder.RBACActionUpdate, access.Object{Type: coder.RBACResourceDeploymentConfig}) {
		return 0, coder.Errorf(coder.CodeForbidden, "Only who may change the deployment may set provisioner_weight: it shares the server's own provisioners out among all organizations")
	}
	return int32(min(max(weight, -1), coder.MaxProvisionerWeight+1)), coder.CheckProvisionerWeight(weight)
}

// UpdateOrganization changes what is not empty in the request.
func (s *Service) UpdateOrganization(ctx context.Context, actor access.Subject, ref string, req coder.UpdateOrganizationRequest) (coder.Organization, error) {
	var out coder.Organization
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		old, err := organizationRow(ctx, q, ref)
		if err != nil {
			return err
		}
		if err := actor.Check(coder.RBACActionUpdate, organizationObject(old.ID)); err != nil {
			return err
		}
		if old, err = q.OrganizationForUpdate(ctx, old.ID); err != nil {
			return err
		}
		if err := req.Check("organization", old.UpdatedAt); err != nil {
			return err
		}
		p := sqlc.UpdateOrganizationParams{
			ID: old.ID, Now: s.now(), Name: either(req.Name, old.Name), DisplayName: either(req.DisplayName, old.DisplayName),
			Description: either(req.Description, old.Description), Icon: either(req.Icon, old.Icon),
			ProvisionerWeight: old.ProvisionerWeight,
		}
		if req.ProvisionerWeight != nil {
			if p.ProvisionerWeight, err = provisionerWeight(actor, *req.ProvisionerWeight); err != nil {
				return err
			}
		}
		if err := checkOrganization(p.Name, p.DisplayName, p.Description, p.Icon); err != nil {
			return err
		}
		row, err := q.UpdateOrganization(ctx, p)
		if err != nil {
			return taken(err)
		}
		out = shownOrganization(row)
		return s.recordOrganization(ctx, q, actor, coder.AuditActionWrite, out, audit.Diff(shownOrganization(old), out))
	})
	return out, err
}

// DeleteOrganization deletes an organization that holds nothing any more. The
// default one stays.
func (s *Service) DeleteOrganization(ctx context.Context, actor access.Subject, ref string) error {
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		old, err := organizationRow(ctx, q, ref)
		if err != nil {
			return err
		}
		if err := actor.Check(coder.RBACActionDelete, organizationObject(old.ID)); err != nil {
			return err
		}
		if old.IsDefault {
			return coder.Errorf(coder.CodeInvalid, "The default organization cannot be deleted")
		}
		has, err := q.OrganizationResources(ctx, old.ID)
		if err != nil {
			return err
		}
		if has.Workspaces+has.Templates+has.ProvisionerKeys > 0 {
			return coder.Errorf(coder.CodeConflict, "The organization %s still holds resources; delete them first", old.Name).
				WithDetail("%d workspaces, %d templates, %d provisioner keys", has.Workspaces, has.Templates, has.ProvisionerKeys)
		}
		if _, err := q.SoftDeleteOrganization(ctx, s.now(), old.ID); err != nil {
			return err
		}
		out := shownOrganization(old)
		return s.recordOrganization(ctx, q, actor, coder.AuditActionDelete, out, audit.Diff(out, nil))
	})
	if err == nil && s.c.Hub != nil {
		s.c.Hub.Publish(notify.AllRights())
	}
	return err
}

func (s *Service) recordOrganization(ctx context.Context, q *sqlc.Queries, actor access.Subject, action coder.AuditAction, o coder.Organization, d coder.AuditDiff) error {
	return audit.Record(ctx, q, actor, audit.Entry{
		Action: action, ResourceType: coder.ResourceTypeOrganization, ResourceID: o.ID, OrganizationID: o.ID,
		Target: o.Name, Icon: o.Icon, Diff: d,
	})
}

// either gives the new value, or the old one when the new one is empty.
func either(new, old string) string {
	if new == "" {
		return old
	}
	return new
}
