package coder

import "github.com/google/uuid"

// CreateGroupRequest makes a group.
type CreateGroupRequest struct {
	AvatarURL      string `json:"avatar_url,omitempty"`
	DisplayName    string `json:"display_name,omitempty"`
	Name           string `json:"name"`
	QuotaAllowance int    `json:"quota_allowance,omitempty"`
}

// PatchGroupRequest changes a group; absent fields stay as they are. An empty
// name does not count either.
type PatchGroupRequest struct {
	IfUnchanged
	// AddUsers and RemoveUsers are ids of members of the organization.
	AddUsers       []string `json:"add_users,omitempty"`
	RemoveUsers    []string `json:"remove_users,omitempty"`
	AvatarURL      *string  `json:"avatar_url,omitempty"`
	DisplayName    *string  `json:"display_name,omitempty"`
	Name           string   `json:"name,omitempty"`
	QuotaAllowance *int     `json:"quota_allowance,omitempty"`
}

// GroupMembersResponse is a page of the members of a group and the count of
// all that match.
type GroupMembersResponse struct {
	Users []ReducedUser `json:"users"`
	Count int           `json:"count"`
}

// WorkspaceQuota is what a user's workspaces cost a day, and what they may.
type WorkspaceQuota struct {
	// Budget is the sum of the allowances of the user's groups.
	Budget          int `json:"budget"`
	CreditsConsumed int `json:"credits_consumed"`
}

// WorkspaceSharingSettings says whether workspaces of an organization may be shared.
type WorkspaceSharingSettings struct {
	SharingDisabled bool `json:"sharing_disabled"`
}

// WorkspaceACL lists with whom a workspace is shared.
type WorkspaceACL struct {
	Group []WorkspaceGroup `json:"group"`
	Users []WorkspaceUser  `json:"users"`
}

// WorkspaceGroup is a group that a workspace is shared with.
type WorkspaceGroup struct {
	Group
	Role WorkspaceRole `json:"role"`
}

// WorkspaceUser is a user that a workspace is shared with.
type WorkspaceUser struct {
	MinimalUser
	Role WorkspaceRole `json:"role"`
}

// UpdateWorkspaceACL changes with whom a workspace is shared; an empty role
// removes the entry.
type UpdateWorkspaceACL struct {
	GroupRoles map[uuid.UUID]WorkspaceRole `json:"group_roles,omitempty"`
	UserRoles  map[uuid.UUID]WorkspaceRole `json:"user_roles,omitempty"`
}
