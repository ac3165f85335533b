package codersdk

import (
	"regexp"

	"github.com/google/uuid"
)

// GroupSyncSettings maps a claim of the identity provider to groups of one
// organization at every sign-in. An empty Field disables the sync. (AU-14)
type GroupSyncSettings struct {
	Field   string              `json:"field"`   // name of the claim; its value is a name or a list of names
	Mapping map[string][]string `json:"mapping"` // claim value to group IDs
	// RegexFilter keeps only the claim values that match; nil keeps all.
	RegexFilter *regexp.Regexp `json:"regex_filter"`
	// AutoCreateMissing creates groups for claim values that are neither mapped nor
	// names of existing groups.
	AutoCreateMissing bool `json:"auto_create_missing_groups"`
	// LegacyNameMapping maps claim values to group names, as set by
	// --oidc-group-mapping.
	LegacyNameMapping map[string]string `json:"legacy_group_name_mapping,omitempty"`
}

// RoleSyncSettings maps a claim to roles in one organization at every sign-in. An
// empty Field disables the sync.
type RoleSyncSettings struct {
	Field   string              `json:"field"`
	Mapping map[string][]string `json:"mapping"` // claim value to role names
}

// OrganizationSyncSettings maps a claim to memberships of organizations at every
// sign-in. An empty Field disables the sync.
type OrganizationSyncSettings struct {
	Field         string                 `json:"field"`
	Mapping       map[string][]uuid.UUID `json:"mapping"`
	AssignDefault bool                   `json:"organization_assign_default"` // every user is also a member of the default organization
}

// PatchGroupIDPSyncConfigRequest changes a group sync, except for its mapping.
type PatchGroupIDPSyncConfigRequest struct {
	Field             string         `json:"field"`
	RegexFilter       *regexp.Regexp `json:"regex_filter"`
	AutoCreateMissing bool           `json:"auto_create_missing_groups"`
}

// PatchRoleIDPSyncConfigRequest changes a role sync, except for its mapping.
type PatchRoleIDPSyncConfigRequest struct {
	Field string `json:"field"`
}

// PatchOrganizationIDPSyncConfigRequest changes an organization sync, except for
// its mapping.
type PatchOrganizationIDPSyncConfigRequest struct {
	Field         string `json:"field"`
	AssignDefault bool   `json:"assign_default"`
}

// IDPSyncMapping is one entry of a mapping: users with the claim value Given get Gets.
type IDPSyncMapping[T any] struct {
	Given string `json:"given"`
	Gets  T      `json:"gets"`
}

// PatchGroupIDPSyncMappingRequest adds and removes entries of a mapping. Entries
// that are in both lists are removed.
type PatchGroupIDPSyncMappingRequest struct {
	Add    []IDPSyncMapping[uuid.UUID] `json:"add"`
	Remove []IDPSyncMapping[uuid.UUID] `json:"remove"`
}

// PatchRoleIDPSyncMappingRequest adds and removes entries of a role mapping, by name.
type PatchRoleIDPSyncMappingRequest struct {
	Add    []IDPSyncMapping[string] `json:"add"`
	Remove []IDPSyncMapping[string] `json:"remove"`
}

// PatchOrganizationIDPSyncMappingRequest adds and removes entries of an
// organization mapping.
type PatchOrganizationIDPSyncMappingRequest struct {
	Add    []IDPSyncMapping[uuid.UUID] `json:"add"`
	Remove []IDPSyncMapping[uuid.UUID] `json:"remove"`
}

// ExternalAuthDevice is a sign-in with a device code (RFC 8628).
type ExternalAuthDevice struct {
	DeviceCode      string `json:"device_code"`
	UserCode        string `json:"user_code"`
	VerificationURI string `json:"verification_uri"`
	ExpiresIn       int    `json:"expires_in"` // seconds
	Interval        int    `json:"interval"`   // minimum seconds between polls
}

// OAuth2DeviceFlowCallbackResponse is the result of a successful device sign-in.
type OAuth2DeviceFlowCallbackResponse struct {
	RedirectURL string `json:"redirect_url"`
}

// RequestOneTimePasscodeRequest requests a one-time passcode by email.
type RequestOneTimePasscodeRequest struct {
	Email string `json:"email"`
}

// ChangePasswordWithOneTimePasscodeRequest sets a password with a one-time passcode.
type ChangePasswordWithOneTimePasscodeRequest struct {
	Email           string `json:"email"`
	OneTimePasscode string `json:"one_time_passcode"`
	Password        string `json:"password"`
}
