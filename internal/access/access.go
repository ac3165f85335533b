// Package access decides whether a subject can do an action on an object. It is a pure table without I/O
// and clock. Every use case calls it, and nothing else decides. (AU-05..08)
//
// A role permits, or with Negate forbids, an action on a resource type at one of four levels: the site,
// everything in an organization, the subject's own objects in an organization, and the subject's own
// objects anywhere. The levels are checked in that order, and the first with an answer decides. The access
// lists of templates and workspaces follow. Finally a token's scopes and allow list can only restrict:
// whatever they do not name is denied, for every user.
package access

import (
	"net/netip"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Subject is the actor of a request: a user with a session or token, an agent on behalf of its owner, a
// provisioner, or the server itself.
type Subject struct {
	UserID   uuid.UUID
	Username string
	// SiteRoles are the site roles in addition to the implicit member.
	SiteRoles []string
	// OrganizationRoles has an entry for each organization of the user, with the roles in
	// addition to the implicit organization-member.
	OrganizationRoles map[uuid.UUID][]string
	// CustomRoles are the definitions of those of these roles that are custom roles of an
	// organization.
	CustomRoles map[uuid.UUID][]codersdk.Role
	// Groups are the groups of the user. The group of all members of each organization is
	// implicit.
	Groups []uuid.UUID
	// Scopes and AllowList restrict a token; empty means no restriction.
	Scopes    []codersdk.APIKeyScope
	AllowList []codersdk.APIAllowListTarget
	// KeyID is the API key in use, "" for other subjects.
	KeyID string
	// System is the server itself, which can do everything.
	System bool
	// NoOwnerWorkspaceAccess removes from the role owner the right to open workspaces of
	// other users (--disable-owner-workspace-access).
	NoOwnerWorkspaceAccess bool
	// NoSharing ignores the access lists of workspaces (--disable-workspace-sharing).
	NoSharing bool
	// Origin is the source of the request, for the audit log.
	Origin Origin
}

// Origin is the source of a request.
type Origin struct {
	IP        netip.Addr
	UserAgent string
	RequestID string
	// Automatic names the program that acts without a user, such as SCIM; "" for none.
	Automatic string
	// Path is the path of an HTTP request. A token that is limited to a part of the API is valid only for
	// paths below that part.
	Path string
}

// Object is the object of an action. Zero fields mean none.
type Object struct {
	Type           codersdk.RBACResource
	ID             uuid.UUID
	OrganizationID uuid.UUID
	OwnerID        uuid.UUID
	// UserACL and GroupACL are the access lists of templates and workspaces: ID -> use or
	// admin. A group with the ID of the organization is all of its members.
	UserACL, GroupACL map[string]string
}

// Filter selects, for list queries, the rows that a subject can see: all, those of organizations, owned
// rows, or rows with an entry in an access list. It is passed to SQL as parameters. The zero Filter
// selects nothing.
type Filter struct {
	All             bool
	OrganizationIDs []uuid.UUID // all rows of these organizations
	OwnerID         uuid.UUID   // rows of this owner
	MemberOf        []uuid.UUID // owned and shared rows of these organizations only
	// UserKey and GroupKeys are the names of the subject in access lists. Rows with one of them
	// in a list are selected and, unless UserKey is empty, rows with the group of all members of
	// their organization.
	UserKey   string
	GroupKeys []string
	// IDs, if not nil, restricts the result to these rows: the token's allow list.
	IDs []uuid.UUID
}
