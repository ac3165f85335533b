package codersdk

import (
	"time"

	"github.com/google/uuid"
)

// Organization is a tenant: it has its own templates, workspaces, members and
// provisioners.
type Organization struct {
	CreatedAt   time.Time `json:"created_at"`
	Description string    `json:"description"`
	DisplayName string    `json:"display_name"`
	Icon        string    `json:"icon"`
	ID          uuid.UUID `json:"id"`
	IsDefault   bool      `json:"is_default"`
	Name        string    `json:"name"`
	// ProvisionerWeight is the organization's share of the built-in provisioners
	// while other organizations wait too: 1 to MaxProvisionerWeight. With 0 the
	// built-in provisioners do not serve the organization.
	ProvisionerWeight int       `json:"provisioner_weight"`
	UpdatedAt         time.Time `json:"updated_at"`
}

// MaxProvisionerWeight is the largest weight of an organization.
const MaxProvisionerWeight = 100

// CheckProvisionerWeight checks that weight is 0 to MaxProvisionerWeight.
func CheckProvisionerWeight(weight int) error {
	if weight < 0 || weight > MaxProvisionerWeight {
		return Invalid("provisioner_weight", "%d is out of range; use 0 to %d, where 0 turns off the built-in provisioners for the organization",
			weight, MaxProvisionerWeight)
	}
	return nil
}

// MinimalOrganization holds the names and the icon of an organization.
type MinimalOrganization struct {
	DisplayName string    `json:"display_name"`
	Icon        string    `json:"icon"`
	ID          uuid.UUID `json:"id"`
	Name        string    `json:"name"`
}

// CreateOrganizationRequest creates an organization.
type CreateOrganizationRequest struct {
	Description string `json:"description,omitempty"`
	DisplayName string `json:"display_name,omitempty"`
	Icon        string `json:"icon,omitempty"`
	Name        string `json:"name"`
}

// UpdateOrganizationRequest changes an organization; empty fields keep their values.
type UpdateOrganizationRequest struct {
	IfUnchanged
	Description string `json:"description,omitempty"`
	DisplayName string `json:"display_name,omitempty"`
	Icon        string `json:"icon,omitempty"`
	Name        string `json:"name,omitempty"`
	// ProvisionerWeight requires permission to change the deployment; nil keeps it.
	ProvisionerWeight *int `json:"provisioner_weight,omitempty"`
}

// OrganizationMember is the membership of a user in an organization.
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

// PaginatedMembersResponse is a page of members and the count of all members.
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
	UpdatedAt               time.Time     `json:"updated_at"` // an extension
}

// GroupSource is where a group comes from: a user, or the identity provider.
type GroupSource string

// Values of GroupSource.
const (
	GroupSourceOIDC GroupSource = "oidc"
	GroupSourceUser GroupSource = "user"
)

// OrganizationRules limit the tokens and external accounts of members. The rules of all organizations of a user apply.
type OrganizationRules struct {
	TokenScopes             []APIKeyScope      `json:"token_scopes"`               // that API tokens can have; empty: all
	MaxTokenLifetimeSeconds int64              `json:"max_token_lifetime_seconds"` // 0: the limit of the deployment
	ExternalAuthRestricted  bool               `json:"external_auth_restricted"`   // members can link the providers in ExternalAuth only
	ExternalAuth            []ExternalAuthRule `json:"external_auth"`
}

// ExternalAuthRule lets members of groups link a provider; without groups, all members of the organization.
type ExternalAuthRule struct {
	ProviderID string      `json:"provider_id"`
	GroupIDs   []uuid.UUID `json:"group_ids"`
}
