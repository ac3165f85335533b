package coder

import (
	"regexp"

	"github.com/google/uuid"
)

// GroupSyncSettings says how a claim becomes groups of one organization, at
// every login. An empty field syncs nothing. (AU-14)
type GroupSyncSettings struct {
	Field   string              `json:"field"`   // the claim: a list of names, or one
	Mapping map[string][]string `json:"mapping"` // a name there to ids of groups here
	// RegexFilter lets only names that match through; nil: all.
	RegexFilter *regexp.Regexp `json:"regex_filter"`
	// AutoCreateMissing makes a group of a name that is neither mapped nor a
	// group's.
	AutoCreateMissing bool `json:"auto_create_missing_groups"`
	// LegacyNameMapping is a name there to a name here, as
	// --oidc-group-mapping has it.
	LegacyNameMapping map[string]string `json:"legacy_group_name_mapping,omitempty"`
}

// RoleSyncSettings says how a claim becomes roles in one organization, at every
// login. An empty field syncs nothing.
type RoleSyncSettings struct {
	Field   string              `json:"field"`
	Mapping map[string][]string `json:"mapping"` // a name there to names of roles
}

// OrganizationSyncSettings says how a claim becomes memberships of
// organizations, at every login. An empty field syncs nothing.
type OrganizationSyncSettings struct {
	Field         string                 `json:"field"`
	Mapping       map[string][]uuid.UUID `json:"mapping"`
	AssignDefault bool                   `json:"organization_assign_default"` // everybody is in the default one
}

// PatchGroupIDPSyncConfigRequest changes a group sync but for its mapping.
type PatchGroupIDPSyncConfigRequest struct {
	Field             string         `json:"field"`
	RegexFilter       *regexp.Regexp `json:"regex_filter"`
	AutoCreateMissing bool           `json:"auto_create_missing_groups"`
}

// PatchRoleIDPSyncConfigRequest changes a role sync but for its mapping.
type PatchRoleIDPSyncConfigRequest struct {
	Field string `json:"field"`
}

// PatchOrganizationIDPSyncConfigRequest changes an organization sync but for
// its mapping.
type PatchOrganizationIDPSyncConfigRequest struct {
	Field         string `json:"field"`
	AssignDefault bool   `json:"assign_default"`
}

// IDPSyncMapping is one entry of a mapping: who has Given there gets Gets here.
type IDPSyncMapping[T any] struct {
	Given string `json:"given"`
	Gets  T      `json:"gets"`
}

// PatchGroupIDPSyncMappingRequest adds and removes entries of a mapping; what
// is in both is removed.
type PatchGroupIDPSyncMappingRequest struct {
	Add    []IDPSyncMapping[uuid.UUID] `json:"add"`
	Remove []IDPSyncMapping[uuid.UUID] `json:"remove"`
}

// PatchRoleIDPSyncMappingRequest is the same for roles, by name.
type PatchRoleIDPSyncMappingRequest struct {
	Add    []IDPSyncMapping[string] `json:"add"`
	Remove []IDPSyncMapping[string] `json:"remove"`
}

// PatchOrganizationIDPSyncMappingRequest is the same for organizations.
type PatchOrganizationIDPSyncMappingRequest struct {
	Add    []IDPSyncMapping[uuid.UUID] `json:"add"`
	Remove []IDPSyncMapping[uuid.UUID] `json:"remove"`
}

// ExternalAuthDevice is a login by a code that is typed in on another device.
type ExternalAuthDevice struct {
	DeviceCode      string `json:"device_code"`
	UserCode        string `json:"user_code"`
	VerificationURI string `json:"verification_uri"`
	ExpiresIn       int    `json:"expires_in"` // seconds
	Interval        int    `json:"interval"`   // seconds between questions
}

// OAuth2DeviceFlowCallbackResponse is the answer to a device login that worked.
type OAuth2DeviceFlowCallbackResponse struct {
	RedirectURL string `json:"redirect_url"`
}

// RequestOneTimePasscodeRequest asks for a passcode by e-mail.
type RequestOneTimePasscodeRequest struct {
	Email string `json:"email"`
}

// ChangePasswordWithOneTimePasscodeRequest sets a password with a passcode.
type ChangePasswordWithOneTimePasscodeRequest struct {
	Email           string `json:"email"`
	OneTimePasscode string `json:"one_time_passcode"`
	Password        string `json:"password"`
}
