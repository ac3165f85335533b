package organization_test

import (
	"net/netip"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
)

var here = access.Origin{IP: netip.MustParseAddr("192.0.2.1"), UserAgent: "test", RequestID: "r1"}

// house is an organization with its members: root is owner of the site.
type house struct {
	*organization.Service
	t      testing.TB
	store  *postgres.Store
	people *identity.Service
	org    uuid.UUID
	root   access.Subject
}

func newHouse(t testing.TB) *house {
	t.Helper()
	store := postgrestest.New(t)
	h := &house{t: t, store: store, Service: organization.New(organization.Config{Store: store}), people: identity.New(identity.Config{Store: store})}
	first, err := h.people.CreateFirstUser(t.Context(), here, codersdk.CreateFirstUserRequest{Email: "root@example.com", Username: "root", Password: "correct horse battery"})
	h.must(err)
	h.org, h.root = first.OrganizationID, h.as(first.UserID)
	return h
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// want fails the test unless err has the code; "" is no error.
func (h *house) want(what string, err error, code codersdk.Code) {
	h.t.Helper()
	if got := codersdk.CodeOf(err); got != code {
		h.t.Errorf("%s: code %q, want %q (%v)", what, got, code, err)
	}
}

// as returns the subject that a user is now.
func (h *house) as(id uuid.UUID) access.Subject {
	h.t.Helper()
	s, err := h.people.SubjectOf(h.t.Context(), id)
	h.must(err)
	s.Origin = here
	return s
}

// user makes a member with roles in the organization.
func (h *house) user(name string, roles ...string) access.Subject {
	h.t.Helper()
	u, err := h.people.CreateUser(h.t.Context(), h.root, codersdk.CreateUserRequestWithOrgs{
		Email: name + "@example.com", Username: name, LoginType: codersdk.LoginTypeNone, UserStatus: codersdk.UserStatusActive,
		OrganizationIDs: []uuid.UUID{h.org},
	})
	h.must(err)
	if len(roles) > 0 {
		_, err := h.people.UpdateMemberRoles(h.t.Context(), h.root, h.org.String(), name, codersdk.UpdateRoles{Roles: roles})
		h.must(err)
	}
	return h.as(u.ID)
}

// elsewhere makes another organization.
func (h *house) elsewhere() uuid.UUID {
	h.t.Helper()
	o, err := h.people.CreateOrganization(h.t.Context(), h.root, codersdk.CreateOrganizationRequest{Name: "elsewhere"})
	h.must(err)
	h.root = h.as(h.root.UserID)
	return o.ID
}

func (h *house) group(name string, members ...access.Subject) codersdk.Group {
	h.t.Helper()
	g, err := h.CreateGroup(h.t.Context(), h.root, h.org, codersdk.CreateGroupRequest{Name: name})
	h.must(err)
	req := codersdk.PatchGroupRequest{}
	for _, m := range members {
		req.AddUsers = append(req.AddUsers, m.UserID.String())
	}
	g, err = h.UpdateGroup(h.t.Context(), h.root, g.ID, req)
	h.must(err)
	return g
}

// lastAudit returns the newest row of the audit log.
func (h *house) lastAudit() codersdk.AuditLog {
	h.t.Helper()
	logs, err := h.people.AuditLogs(h.t.Context(), h.root, identity.AuditSearch{Search: audit.Search{Limit: 1}})
	h.must(err)
	return logs.AuditLogs[0]
}

func names(gs []codersdk.Group) (out []string) {
	for _, g := range gs {
		out = append(out, g.Name)
	}
	return out
}

func ptr[T any](v T) *T { return &v }
