package codersdk

import "github.com/google/uuid"

// CreateGroupRequest creates a group.
type CreateGroupRequest struct {
	AvatarURL      string `json:"avatar_url,omitempty"`
	DisplayName    string `json:"display_name,omitempty"`
	Name           string `json:"name"`
	QuotaAllowance int    `json:"quota_allowance,omitempty"`
}

// PatchGroupRequest changes a group. Absent fields and an empty name keep the
// current values.
type PatchGroupRequest struct {
	IfUnchanged
	// AddUsers and RemoveUsers are IDs of members of the organization.
	AddUsers       []string `json:"add_users,omitempty"`
	RemoveUsers    []string `json:"remove_users,omitempty"`
	AvatarURL      *string  `json:"avatar_url,omitempty"`
	DisplayName    *string  `json:"display_name,omitempty"`
	Name           string   `json:"name,omitempty"`
	QuotaAllowance *int     `json:"quota_allowance,omitempty"`
}

// GroupMembersResponse is a page of a group's members and the count of all
// matching members.
type GroupMembersResponse struct {
	Users []ReducedUser `json:"users"`
	Count int           `json:"count"`
}

// WorkspaceQuota is the daily cost of a user's workspaces and the budget for it.
type WorkspaceQuota struct {
	// Budget is the sum of the allowances of the user's groups.
	Budget          int `json:"budget"`
	CreditsConsumed int `json:"credits_consumed"`
}

// WorkspaceSharingSettings holds whether workspaces of an organization can be shared.
type WorkspaceSharingSettings struct {
	SharingDisabled bool `json:"sharing_disabled"`
}

// WorkspaceACL lists the users and groups that a workspace is shared with.
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

// UpdateWorkspaceACL changes the users and groups that a workspace is shared with;
// an empty role removes the entry.
type UpdateWorkspaceACL struct {
	GroupRoles map[uuid.UUID]WorkspaceRole `json:"group_roles,omitempty"`
	UserRoles  map[uuid.UUID]WorkspaceRole `json:"user_roles,omitempty"`
}
