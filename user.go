package coder

import (
	"time"

	"github.com/google/uuid"
)

// User is a person or a headless account, with its site roles and organizations.
type User struct {
	AvatarURL       string      `json:"avatar_url"`
	CreatedAt       time.Time   `json:"created_at"`
	Email           string      `json:"email"`
	ID              uuid.UUID   `json:"id"`
	LastSeenAt      time.Time   `json:"last_seen_at"`
	LoginType       LoginType   `json:"login_type"`
	Name            string      `json:"name"`
	OrganizationIDs []uuid.UUID `json:"organization_ids"`
	Roles           []SlimRole  `json:"roles"`
	Status          UserStatus  `json:"status"`
	ThemePreference string      `json:"theme_preference"`
	UpdatedAt       time.Time   `json:"updated_at"`
	Username        string      `json:"username"`
}

// ReducedUser is a user without roles and organizations.
type ReducedUser struct {
	AvatarURL       string     `json:"avatar_url"`
	CreatedAt       time.Time  `json:"created_at"`
	Email           string     `json:"email"`
	ID              uuid.UUID  `json:"id"`
	LastSeenAt      time.Time  `json:"last_seen_at"`
	LoginType       LoginType  `json:"login_type"`
	Name            string     `json:"name"`
	Status          UserStatus `json:"status"`
	ThemePreference string     `json:"theme_preference"`
	UpdatedAt       time.Time  `json:"updated_at"`
	Username        string     `json:"username"`
}

// MinimalUser is just enough of a user to name and picture it.
type MinimalUser struct {
	AvatarURL string    `json:"avatar_url"`
	ID        uuid.UUID `json:"id"`
	Name      string    `json:"name"`
	Username  string    `json:"username"`
}

// UserStatus says whether a user may act: active, dormant until the next login, or suspended.
type UserStatus string

// Values of UserStatus.
const (
	UserStatusActive    UserStatus = "active"
	UserStatusDormant   UserStatus = "dormant"
	UserStatusSuspended UserStatus = "suspended"
)

// LoginType is the way a user proves who they are.
type LoginType string

// Values of LoginType.
const (
	LoginTypeDefault  LoginType = ""
	LoginTypeGitHub   LoginType = "github"
	LoginTypeNone     LoginType = "none"
	LoginTypeOIDC     LoginType = "oidc"
	LoginTypePassword LoginType = "password"
	LoginTypeToken    LoginType = "token"
)

// CreateFirstUserRequest makes the first user, who becomes owner.
type CreateFirstUserRequest struct {
	Email     string                   `json:"email"`
	Name      string                   `json:"name,omitempty"`
	Password  string                   `json:"password"`
	Trial     bool                     `json:"trial"`
	TrialInfo CreateFirstUserTrialInfo `json:"trial_info,omitempty"`
	Username  string                   `json:"username"`
}

// CreateFirstUserTrialInfo is accepted for compatibility and ignored: nothing here needs a trial.
type CreateFirstUserTrialInfo struct {
	CompanyName string `json:"company_name,omitempty"`
	Country     string `json:"country,omitempty"`
	Developers  string `json:"developers,omitempty"`
	FirstName   string `json:"first_name,omitempty"`
	JobTitle    string `json:"job_title,omitempty"`
	LastName    string `json:"last_name,omitempty"`
	PhoneNumber string `json:"phone_number,omitempty"`
}

// CreateFirstUserResponse names the first user and the default organization.
type CreateFirstUserResponse struct {
	OrganizationID uuid.UUID `json:"organization_id"`
	UserID         uuid.UUID `json:"user_id"`
}

// CreateUserRequestWithOrgs makes a user as a member of the named organizations.
type CreateUserRequestWithOrgs struct {
	Email           string      `json:"email"`
	LoginType       LoginType   `json:"login_type,omitempty"`
	Name            string      `json:"name,omitempty"`
	OrganizationIDs []uuid.UUID `json:"organization_ids,omitzero"`
	Password        string      `json:"password,omitempty"`
	UserStatus      UserStatus  `json:"user_status,omitempty"`
	Username        string      `json:"username"`
}

// UpdateUserProfileRequest changes the names of a user.
type UpdateUserProfileRequest struct {
	IfUnchanged
	Name     string `json:"name,omitempty"`
	Username string `json:"username"`
}

// UpdateUserPasswordRequest sets a password; the old one is required from the user themself.
type UpdateUserPasswordRequest struct {
	OldPassword string `json:"old_password,omitempty"`
	Password    string `json:"password"`
}

// ValidateUserPasswordRequest asks how strong a password is.
type ValidateUserPasswordRequest struct {
	Password string `json:"password"`
}

// ValidateUserPasswordResponse says whether a password is good enough, and why not.
type ValidateUserPasswordResponse struct {
	Details string `json:"details"`
	Valid   bool   `json:"valid"`
}

// GetUsersResponse is a page of users and the count of all that match.
type GetUsersResponse struct {
	Count int    `json:"count"`
	Users []User `json:"users"`
}

// UserLoginType is the login type of one user.
type UserLoginType struct {
	LoginType LoginType `json:"login_type"`
}

// ConvertLoginRequest asks to log in by another way from now on. The password
// is the one that was used up to now.
type ConvertLoginRequest struct {
	Password string    `json:"password"`
	ToType   LoginType `json:"to_type"`
}

// OAuthConversionResponse is a conversion that was begun. Whoever logs in by
// the new way with StateString, before ExpiresAt, ends it.
type OAuthConversionResponse struct {
	ExpiresAt   time.Time `json:"expires_at"`
	StateString string    `json:"state_string"`
	ToType      LoginType `json:"to_type"`
	UserID      uuid.UUID `json:"user_id"`
}

// UserQuietHoursScheduleResponse says when workspaces of a user that must stop
// once may be stopped.
type UserQuietHoursScheduleResponse struct {
	Next        time.Time `json:"next"`
	RawSchedule string    `json:"raw_schedule"` // CRON_TZ=zone minute hour * * *
	Time        string    `json:"time"`         // HH:mm
	Timezone    string    `json:"timezone"`
	UserCanSet  bool      `json:"user_can_set"`
	UserSet     bool      `json:"user_set"`
}

// UpdateUserQuietHoursScheduleRequest sets the quiet hours of a user; empty
// goes back to those of the deployment.
type UpdateUserQuietHoursScheduleRequest struct {
	Schedule string `json:"schedule"`
}

// Session is a session of a user that has not ended.
type Session struct {
	ID        string    `json:"id"`
	Current   bool      `json:"current"` // the one that asks
	LoginType LoginType `json:"login_type"`
	IPAddress string    `json:"ip_address"`
	UserAgent string    `json:"user_agent"`
	CreatedAt time.Time `json:"created_at"`
	LastUsed  time.Time `json:"last_used"`
	ExpiresAt time.Time `json:"expires_at"`
}

// AuthMethod says whether one way of logging in is on.
type AuthMethod struct {
	Enabled bool `json:"enabled"`
}

// AuthMethods lists the ways of logging in that are on.
type AuthMethods struct {
	GitHub            GithubAuthMethod `json:"github"`
	OIDC              OIDCAuthMethod   `json:"oidc"`
	Password          AuthMethod       `json:"password"`
	TermsOfServiceURL string           `json:"terms_of_service_url"`
}

// GithubAuthMethod describes login through GitHub.
type GithubAuthMethod struct {
	DefaultProviderConfigured bool `json:"default_provider_configured"`
	Enabled                   bool `json:"enabled"`
}

// OIDCAuthMethod describes login through OpenID Connect.
type OIDCAuthMethod struct {
	Enabled    bool   `json:"enabled"`
	IconUrl    string `json:"iconUrl"`
	SignInText string `json:"signInText"`
}

// GitSSHKey is the public half of the key pair that a user's workspaces use for git.
type GitSSHKey struct {
	CreatedAt time.Time `json:"created_at"`
	PublicKey string    `json:"public_key"`
	UpdatedAt time.Time `json:"updated_at"`
	UserID    uuid.UUID `json:"user_id"`
}

// UserAppearanceSettings is how a user likes the dashboard to look.
type UserAppearanceSettings struct {
	TerminalFont    TerminalFontName `json:"terminal_font"`
	ThemePreference string           `json:"theme_preference"`
}

// UpdateUserAppearanceSettingsRequest changes how the dashboard looks for a user.
type UpdateUserAppearanceSettingsRequest struct {
	TerminalFont    TerminalFontName `json:"terminal_font"`
	ThemePreference string           `json:"theme_preference"`
}

// UserPreferenceSettings are small settings of a user.
type UserPreferenceSettings struct {
	TaskNotificationAlertDismissed bool `json:"task_notification_alert_dismissed"`
}

// TerminalFontName is a font of the web terminal.
type TerminalFontName string

// Values of TerminalFontName.
const (
	TerminalFontNameDefault       TerminalFontName = ""
	TerminalFontNameFiraCode      TerminalFontName = "fira-code"
	TerminalFontNameIbmPlexMono   TerminalFontName = "ibm-plex-mono"
	TerminalFontNameJetbrainsMono TerminalFontName = "jetbrains-mono"
	TerminalFontNameSourceCodePro TerminalFontName = "source-code-pro"
)
