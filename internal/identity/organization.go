package identity

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// maxRows is the largest page of a list.
const maxRows = 1000

// seenOrganizations returns which organizations the actor can see: all, or these.
func seenOrganizations(actor access.Subject) (all bool, ids []uuid.UUID) {
	f := actor.Filter(codersdk.RBACResourceOrganization)
	return f.All, append([]uuid.UUID{}, f.OrganizationIDs...)
}

// Organizations lists the organizations that the actor can see, the default one
// first.
func (s *Service) Organizations(ctx context.Context, actor access.Subject, page codersdk.Page) ([]codersdk.Organization, error) {
	all, ids := seenOrganizations(actor)
	rows, err := s.c.Store.Organizations(ctx, sqlc.OrganizationsParams{SeeAll: all, SeeIds: ids, RowLimit: page.Rows(maxRows), RowOffset: page.Skip()})
	return organizations(rows), err
}

// UserOrganizations lists a page of a user's organizations that the actor can see.
func (s *Service) UserOrganizations(ctx context.Context, actor access.Subject, ref string, page codersdk.Page) ([]codersdk.Organization, error) {
	u, err := s.userRow(ctx, s.c.Store.Queries, actor, ref)
	if err != nil {
		return nil, err
	}
	if err := actor.Check(codersdk.RBACActionRead, userObject(u.ID)); err != nil {
		return nil, err
	}
	all, ids := seenOrganizations(actor)
	rows, err := s.c.Store.OrganizationsOfUser(ctx, sqlc.OrganizationsOfUserParams{
		UserID: u.ID, SeeAll: all, SeeIds: ids, RowLimit: page.Rows(maxRows), RowOffset: page.Skip(),
	})
	return organizations(rows), err
}

func organizations(rows []sqlc.Organization) []codersdk.Organization {
	out := make([]codersdk.Organization, len(rows))
	for i, r := range rows {
		out[i] = shownOrganization(r)
	}
	return out
}

// checkOrganization checks the texts of an organization.
func checkOrganization(name, displayName, description, icon string) error {
	if err := codersdk.CheckName("name", name); err != nil {
		return err
	}
	if strings.EqualFold(name, "default") {
		return codersdk.Invalid("name", `"default" is reserved for the default organization`)
	}
	if len(description) > 1000 {
		return codersdk.Invalid("description", "is longer than 1000 characters")
	}
	if err := codersdk.CheckIcon("icon", icon); err != nil {
		return err
	}
	return codersdk.CheckDisplayName("display_name", displayName)
}

// CreateOrganization creates an organization with the actor as its administrator.
// Built-in provisioners serve it if it has a weight. (AU-16)
func (s *Service) CreateOrganization(ctx context.Context, actor access.Subject, req codersdk.CreateOrganizationRequest) (codersdk.Organization, error) {
	var out codersdk.Organization
	if err := actor.Check(codersdk.RBACActionCreate, access.Object{Type: codersdk.RBACResourceOrganization}); err != nil {
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
		return s.recordOrganization(ctx, q, actor, codersdk.AuditActionCreate, out, audit.Diff(nil, out))
	})
	return out, err
}

// provisionerWeight checks a new weight. Built-in provisioners are shared among all
// organizations, so administrators of one organization cannot set its weight.
func provisionerWeight(actor access.Subject, weight int) (int32, error) {
	if !actor.Can(codersdk.RBACActionUpdate, access.Object{Type: codersdk.RBACResourceDeploymentConfig}) {
		return 0, codersdk.Errorf(codersdk.CodeForbidden,
			"provisioner_weight requires permission to change the deployment, because it divides the built-in provisioners among all organizations")
	}
	return int32(min(max(weight, -1), codersdk.MaxProvisionerWeight+1)), codersdk.CheckProvisionerWeight(weight)
}

// UpdateOrganization changes the fields that are not empty in the request.
func (s *Service) UpdateOrganization(
	ctx context.Context,
	actor access.Subject,
	ref string,
	req codersdk.UpdateOrganizationRequest,
) (codersdk.Organization, error) {
	var out codersdk.Organization
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		old, err := organizationRow(ctx, q, ref)
		if err != nil {
			return err
		}
		if err := actor.Check(codersdk.RBACActionUpdate, organizationObject(old.ID)); err != nil {
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
		return s.recordOrganization(ctx, q, actor, codersdk.AuditActionWrite, out, audit.Diff(shownOrganization(old), out))
	})
	return out, err
}

// DeleteOrganization deletes an empty organization. The default organization cannot
// be deleted.
func (s *Service) DeleteOrganization(ctx context.Context, actor access.Subject, ref string) error {
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		old, err := organizationRow(ctx, q, ref)
		if err != nil {
			return err
		}
		if err := actor.Check(codersdk.RBACActionDelete, organizationObject(old.ID)); err != nil {
			return err
		}
		if old.IsDefault {
			return codersdk.Errorf(codersdk.CodeInvalid, "The default organization cannot be deleted")
		}
		has, err := q.OrganizationResources(ctx, old.ID)
		if err != nil {
			return err
		}
		if has.Workspaces+has.Templates+has.ProvisionerKeys > 0 {
			return codersdk.Errorf(codersdk.CodeConflict, "The organization %s still has resources; delete them first", old.Name).
				WithDetail("%d workspaces, %d templates, %d provisioner keys", has.Workspaces, has.Templates, has.ProvisionerKeys)
		}
		if _, err := q.SoftDeleteOrganization(ctx, s.now(), old.ID); err != nil {
			return err
		}
		out := shownOrganization(old)
		return s.recordOrganization(ctx, q, actor, codersdk.AuditActionDelete, out, audit.Diff(out, nil))
	})
	if err == nil && s.c.Hub != nil {
		s.c.Hub.Publish(notify.AllRights())
	}
	return err
}

func (s *Service) recordOrganization(
	ctx context.Context,
	q *sqlc.Queries,
	actor access.Subject,
	action codersdk.AuditAction,
	o codersdk.Organization,
	d codersdk.AuditDiff,
) error {
	return audit.Record(ctx, q, actor, audit.Entry{
		Action: action, ResourceType: codersdk.ResourceTypeOrganization, ResourceID: o.ID, OrganizationID: o.ID,
		Target: o.Name, Icon: o.Icon, Diff: d,
	})
}

// either returns the new value, or the old one if the new one is empty.
func either(new, old string) string {
	if new == "" {
		return old
	}
	return new
}
