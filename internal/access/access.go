// Package access decides who may do what. It is a pure table: a subject with
// roles, an action, an object; no I/O, no clock. Every use case asks it, and
// nothing else decides. (AU-05..08)
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
	// Scopes and AllowList narrow what a token may do; empty means nothing is
	// narrowed.
	Scopes    []coder.APIKeyScope
	AllowList []coder.APIAllowListTarget
	// KeyID is the API key in use, "" for others.
	KeyID string
	// System is the server acting for itself; it may do everything.
	System bool
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
// handed to SQL as parameters.
type Filter struct {
	All             bool
	OrganizationIDs []uuid.UUID // every row of these organizations
	OwnerID         uuid.UUID   // rows of this owner
	MemberOf        []uuid.UUID // ACL entries for these organizations' Everyone, and for OwnerID, count
}
