// Package access decides who may do what. It is a pure table: a subject with
// roles, an action, an object; no I/O, no clock. Every use case asks it, and
// nothing else decides. (AU-05..08)
//
// A role permits, or with Negate forbids, an action on a type of resource on
// one of four levels: on the whole site, on everything of an organization, on
// what the subject itself owns within an organization, and on what it owns
// anywhere. The levels are asked in that order and the first that speaks
// decides. After the roles come the access lists of templates and workspaces.
// Last, a token's scopes and allow list can only take away: whatever they do
// not name is refused, whoever the user is.
package access

import (
	"net/netip"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

// Subject is who acts: a user with a session or token, an agent acting for
// its owner, a provisioner, or the server itself.
type Subject struct {
	UserID   uuid.UUID
	Username string
	// SiteRoles are the roles on the whole site besides the implicit member.
	SiteRoles []string
	// OrganizationRoles has an entry for each organization the user is a member
	// of, with the roles there besides the implicit organization-member.
	OrganizationRoles map[uuid.UUID][]string
	// CustomRoles are those of these roles that an organization made for
	// itself, with what they permit there.
	CustomRoles map[uuid.UUID][]coder.Role
	// Groups are those that the user was put into. Everybody is in the group of
	// everyone of each of their organizations besides.
	Groups []uuid.UUID
	// Scopes and AllowList narrow what a token may do; empty means nothing is
	// narrowed.
	Scopes    []coder.APIKeyScope
	AllowList []coder.APIAllowListTarget
	// KeyID is the API key in use, "" for others.
	KeyID string
	// System is the server acting for itself; it may do everything.
	System bool
	// NoOwnerWorkspaceAccess takes from the role owner the right to open the
	// workspaces of others (--disable-owner-workspace-access).
	NoOwnerWorkspaceAccess bool
	// NoSharing has access lists of workspaces count for nothing
	// (--disable-workspace-sharing).
	NoSharing bool
	// Origin is where the request came from, for the audit log.
	Origin Origin
}

// Origin is where a request came from.
type Origin struct {
	IP        netip.Addr
	UserAgent string
	RequestID string
}

// Object is what somebody wants to act on. Zero fields mean: none.
type Object struct {
	Type           coder.RBACResource
	ID             uuid.UUID
	OrganizationID uuid.UUID
	OwnerID        uuid.UUID
	// UserACL and GroupACL are lists on templates and workspaces: id -> use or
	// admin. A group whose id is the organization's is everyone in it.
	UserACL, GroupACL map[string]string
}

// Filter says, for list queries, which rows a subject may see: all, or those
// of the organizations, or those owned, or those with an ACL entry. It is
// handed to SQL as parameters. The zero Filter lets nothing through.
type Filter struct {
	All             bool
	OrganizationIDs []uuid.UUID // every row of these organizations
	OwnerID         uuid.UUID   // rows of this owner
	MemberOf        []uuid.UUID // owned and listed rows of these organizations alone
	// UserKey and GroupKeys are the names of the subject in access lists: rows
	// that have one of them in a list count, and, unless UserKey is empty, rows
	// that have the group of everyone of their organization.
	UserKey   string
	GroupKeys []string
	// IDs, when not nil, takes away every row but these: the token's allow list.
	IDs []uuid.UUID
}
