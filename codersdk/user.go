package codersdk

import (
	"time"

	"github.com/google/uuid"
)

// User is a user or service account, with its site roles and organizations.
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
	// IsServiceAccount marks the account of a program, without email and password.
	IsServiceAccount bool `json:"is_service_account"`
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

// MinimalUser holds the names and the picture of a user.
type MinimalUser struct {
	AvatarURL string    `json:"avatar_url"`
	ID        uuid.UUID `json:"id"`
	Name      string    `json:"name"`
	Username  string    `json:"username"`
}

// UserStatus is the state of an account: active, dormant until the next sign-in, or suspended.
type UserStatus string

// Values of UserStatus.
const (
	UserStatusActive    UserStatus = "active"
	UserStatusDormant   UserStatus = "dormant"
	UserStatusSuspended UserStatus = "suspended"
)

// LoginType is the way in which a user signs in.
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

// CreateFirstUserRequest creates the first user, who becomes an owner.
type CreateFirstUserRequest struct {
	Email     string                   `json:"email"`
	Name      string                   `json:"name,omitempty"`
	Password  string                   `json:"password"`
	Trial     bool                     `json:"trial"`
	TrialInfo CreateFirstUserTrialInfo `json:"trial_info,omitempty"`
	Username  string                   `json:"username"`
}

// CreateFirstUserTrialInfo is accepted for compatibility and ignored, because no feature needs a trial.
type CreateFirstUserTrialInfo struct {
	CompanyName string `json:"company_name,omitempty"`
	Country     string `json:"country,omitempty"`
	Developers  string `json:"developers,omitempty"`
	FirstName   string `json:"first_name,omitempty"`
	JobTitle    string `json:"job_title,omitempty"`
	LastName    string `json:"last_name,omitempty"`
	PhoneNumber string `json:"phone_number,omitempty"`
}

// CreateFirstUserResponse holds the IDs of the first user and the default organization.
type CreateFirstUserResponse struct {
	OrganizationID uuid.UUID `json:"organization_id"`
	UserID         uuid.UUID `json:"user_id"`
}

// CreateUserRequestWithOrgs creates a user as a member of the given organizations.
type CreateUserRequestWithOrgs struct {
	Email           string      `json:"email"`
	LoginType       LoginType   `json:"login_type,omitempty"`
	Name            string      `json:"name,omitempty"`
	OrganizationIDs []uuid.UUID `json:"organization_ids,omitzero"`
	Password        string      `json:"password,omitempty"`
	UserStatus      UserStatus  `json:"user_status,omitempty"`
	Username        string      `json:"username"`
	// ServiceAccount creates the account of a program, without email and password.
	ServiceAccount         bool                         `json:"service_account,omitempty"`
	ServiceAccountSettings *UpdateServiceAccountRequest `json:"service_account_settings,omitempty"`
}

// UpdateUserProfileRequest changes the username and name of a user.
type UpdateUserProfileRequest struct {
	IfUnchanged
	Name     string `json:"name,omitempty"`
	Username string `json:"username"`
}

// UpdateUserPasswordRequest sets a password. Users who change their own password must send the old one.
type UpdateUserPasswordRequest struct {
	OldPassword string `json:"old_password,omitempty"`
	Password    string `json:"password"`
}

// ValidateUserPasswordRequest requests a check of a password's strength.
type ValidateUserPasswordRequest struct {
	Password string `json:"password"`
}

// ValidateUserPasswordResponse is the result of a password check; Details is empty if it is valid.
type ValidateUserPasswordResponse struct {
	Details string `json:"details"`
	Valid   bool   `json:"valid"`
}

// GetUsersResponse is a page of users and the count of all matching users.
type GetUsersResponse struct {
	Count int    `json:"count"`
	Users []User `json:"users"`
}

// UserLoginType is the login type of one user.
type UserLoginType struct {
	LoginType LoginType `json:"login_type"`
}

// ConvertLoginRequest starts the change to another login type. Password is the
// current password.
type ConvertLoginRequest struct {
	Password string    `json:"password"`
	ToType   LoginType `json:"to_type"`
}

// OAuthConversionResponse is a started conversion. Signing in with the new login
// type and StateString before ExpiresAt completes it.
type OAuthConversionResponse struct {
	ExpiresAt   time.Time `json:"expires_at"`
	StateString string    `json:"state_string"`
	ToType      LoginType `json:"to_type"`
	UserID      uuid.UUID `json:"user_id"`
}

// UserQuietHoursScheduleResponse is the daily time at which workspaces of a user
// that must be stopped can be stopped.
type UserQuietHoursScheduleResponse struct {
	Next        time.Time `json:"next"`
	RawSchedule string    `json:"raw_schedule"` // CRON_TZ=zone minute hour * * *
	Time        string    `json:"time"`         // HH:mm
	Timezone    string    `json:"timezone"`
	UserCanSet  bool      `json:"user_can_set"`
	UserSet     bool      `json:"user_set"`
}

// UpdateUserQuietHoursScheduleRequest sets the quiet hours of a user. An empty
// schedule restores the deployment's default.
type UpdateUserQuietHoursScheduleRequest struct {
	Schedule string `json:"schedule"`
}

// Session is a valid session of a user.
type Session struct {
	ID        string    `json:"id"`
	Current   bool      `json:"current"` // the session of this request
	LoginType LoginType `json:"login_type"`
	IPAddress string    `json:"ip_address"`
	UserAgent string    `json:"user_agent"`
	CreatedAt time.Time `json:"created_at"`
	LastUsed  time.Time `json:"last_used"`
	ExpiresAt time.Time `json:"expires_at"`
}

// AuthMethod reports whether a login type is enabled.
type AuthMethod struct {
	Enabled bool `json:"enabled"`
}

// AuthMethods lists the enabled login types.
type AuthMethods struct {
	GitHub            GithubAuthMethod `json:"github"`
	OIDC              OIDCAuthMethod   `json:"oidc"`
	Password          AuthMethod       `json:"password"`
	TermsOfServiceURL string           `json:"terms_of_service_url"`
}

// GithubAuthMethod describes sign-in with GitHub.
type GithubAuthMethod struct {
	DefaultProviderConfigured bool `json:"default_provider_configured"`
	Enabled                   bool `json:"enabled"`
}

// OIDCAuthMethod describes sign-in with OpenID Connect.
type OIDCAuthMethod struct {
	Enabled    bool   `json:"enabled"`
	IconUrl    string `json:"iconUrl"`
	SignInText string `json:"signInText"`
}

// GitSSHKey is the public key that a user's workspaces use for git.
type GitSSHKey struct {
	CreatedAt time.Time `json:"created_at"`
	PublicKey string    `json:"public_key"`
	UpdatedAt time.Time `json:"updated_at"`
	UserID    uuid.UUID `json:"user_id"`
}

// UserAppearanceSettings are a user's appearance settings of the dashboard.
type UserAppearanceSettings struct {
	TerminalFont    TerminalFontName `json:"terminal_font"`
	ThemePreference string           `json:"theme_preference"`
}

// UpdateUserAppearanceSettingsRequest changes a user's appearance settings.
type UpdateUserAppearanceSettingsRequest struct {
	TerminalFont    TerminalFontName `json:"terminal_font"`
	ThemePreference string           `json:"theme_preference"`
}

// UserPreferenceSettings are preferences of a user.
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
