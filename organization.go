package coder

import (
	"time"

	"github.com/google/uuid"
)

// Organization holds templates, workspaces, members and provisioners apart from those of others.
type Organization struct {
	CreatedAt   time.Time `json:"created_at"`
	Description string    `json:"description"`
	DisplayName string    `json:"display_name"`
	Icon        string    `json:"icon"`
	ID          uuid.UUID `json:"id"`
	IsDefault   bool      `json:"is_default"`
	Name        string    `json:"name"`
	// ProvisionerWeight is the share of the server's own provisioners that the
	// organization gets while others wait too: from 1 to
	// MaxProvisionerWeight; 0 is not served by them.
	ProvisionerWeight int       `json:"provisioner_weight"`
	UpdatedAt         time.Time `json:"updated_at"`
}

// MaxProvisionerWeight is the largest weight of an organization.
const MaxProvisionerWeight = 100

// CheckProvisionerWeight says what is wrong with a weight of an organization.
func CheckProvisionerWeight(weight int) error {
	if weight < 0 || weight > MaxProvisionerWeight {
		return Invalid("provisioner_weight", "%d is not a weight from 0 to %d; 0 means that the server's own provisioners do not serve the organization", weight, MaxProvisionerWeight)
	}
	return nil
}

// MinimalOrganization is just enough of an organization to name and picture it.
type MinimalOrganization struct {
	DisplayName string    `json:"display_name"`
	Icon        string    `json:"icon"`
	ID          uuid.UUID `json:"id"`
	Name        string    `json:"name"`
}

// CreateOrganizationRequest makes an organization.
type CreateOrganizationRequest struct {
	Description string `json:"description,omitempty"`
	DisplayName string `json:"display_name,omitempty"`
	Icon        string `json:"icon,omitempty"`
	Name        string `json:"name"`
}

// UpdateOrganizationRequest changes an organization; empty fields stay as they are.
type UpdateOrganizationRequest struct {
	IfUnchanged
	Description string `json:"description,omitempty"`
	DisplayName string `json:"display_name,omitempty"`
	Icon        string `json:"icon,omitempty"`
	Name        string `json:"name,omitempty"`
	// ProvisionerWeight may be set by who may change the deployment; nil leaves it.
	ProvisionerWeight *int `json:"provisioner_weight,omitempty"`
}

// OrganizationMember is a user's membership of an organization.
type OrganizationMember struct {
	CreatedAt      time.Time  `json:"created_at"`
	OrganizationID uuid.UUID  `json:"organization_id"`
	Roles          []SlimRole `json:"roles"`
	UpdatedAt      time.Time  `json:"updated_at"`
	UserID         uuid.UUID  `json:"user_id"`
}

// OrganizationMemberWithUserData is a membership with the names of its user.
type OrganizationMemberWithUserData struct {
	AvatarURL      string     `json:"avatar_url"`
	CreatedAt      time.Time  `json:"created_at"`
	Email          string     `json:"email"`
	GlobalRoles    []SlimRole `json:"global_roles"`
	Name           string     `json:"name"`
	OrganizationID uuid.UUID  `json:"organization_id"`
	Roles          []SlimRole `json:"roles"`
	UpdatedAt      time.Time  `json:"updated_at"`
	UserID         uuid.UUID  `json:"user_id"`
	Username       string     `json:"username"`
}

// PaginatedMembersResponse is a page of members and the count of all.
type PaginatedMembersResponse struct {
	Count   int                              `json:"count"`
	Members []OrganizationMemberWithUserData `json:"members"`
}

// Group is a named set of members of one organization.
type Group struct {
	AvatarURL               string        `json:"avatar_url"`
	DisplayName             string        `json:"display_name"`
	ID                      uuid.UUID     `json:"id"`
	Members                 []ReducedUser `json:"members"`
	Name                    string        `json:"name"`
	OrganizationDisplayName string        `json:"organization_display_name"`
	OrganizationID          uuid.UUID     `json:"organization_id"`
	OrganizationName        string        `json:"organization_name"`
	QuotaAllowance          int64         `json:"quota_allowance"`
	Source                  GroupSource   `json:"source"`
	TotalMemberCount        int64         `json:"total_member_count"`
	UpdatedAt               time.Time     `json:"updated_at"` // our own
}

// GroupSource says who keeps a group: a person, or the identity provider.
type GroupSource string

// Values of GroupSource.
const (
	GroupSourceOIDC GroupSource = "oidc"
	GroupSourceUser GroupSource = "user"
)
