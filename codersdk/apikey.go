package codersdk

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"
)

// APIKey is a session or an API token. The database holds a hash of its secret.
type APIKey struct {
	AllowList       []APIAllowListTarget `json:"allow_list"`
	CreatedAt       time.Time            `json:"created_at"`
	ExpiresAt       time.Time            `json:"expires_at"`
	ID              string               `json:"id"`
	LastUsed        time.Time            `json:"last_used"`
	LifetimeSeconds int64                `json:"lifetime_seconds"`
	LoginType       LoginType            `json:"login_type"`
	Scope           APIKeyScope          `json:"scope"`
	Scopes          []APIKeyScope        `json:"scopes"`
	TokenName       string               `json:"token_name"`
	UpdatedAt       time.Time            `json:"updated_at"`
	UserID          uuid.UUID            `json:"user_id"`
}

// APIKeyWithOwner is an API key and the username of its owner.
type APIKeyWithOwner struct {
	APIKey
	Username string `json:"username"`
}

// APIKeyScope limits what a token allows: resource:action, resource:*, or a
// composite coder:*. Package access holds the catalog; the constants here are
// the scopes with a special meaning.
type APIKeyScope string

// Values of APIKeyScope.
const (
	APIKeyScopeAll                     APIKeyScope = "all"
	APIKeyScopeApplicationConnect      APIKeyScope = "application_connect"
	APIKeyScopeCoderAll                APIKeyScope = "coder:all"
	APIKeyScopeCoderApikeysManageSelf  APIKeyScope = "coder:apikeys.manage_self"
	APIKeyScopeCoderApplicationConnect APIKeyScope = "coder:application_connect"
	APIKeyScopeCoderTemplatesAuthor    APIKeyScope = "coder:templates.author"
	APIKeyScopeCoderTemplatesBuild     APIKeyScope = "coder:templates.build"
	APIKeyScopeCoderWorkspacesAccess   APIKeyScope = "coder:workspaces.access"
	APIKeyScopeCoderWorkspacesCreate   APIKeyScope = "coder:workspaces.create"
	APIKeyScopeCoderWorkspacesDelete   APIKeyScope = "coder:workspaces.delete"
	APIKeyScopeCoderWorkspacesOperate  APIKeyScope = "coder:workspaces.operate"
)

// APIAllowListTarget limits a token to one object, or to one type of objects.
type APIAllowListTarget struct {
	ID   string       `json:"id"`
	Type RBACResource `json:"type"`
}

// MarshalText writes the short form "type:id", which clients expect.
func (t APIAllowListTarget) MarshalText() ([]byte, error) {
	return []byte(string(t.Type) + ":" + t.ID), nil
}

// UnmarshalJSON reads an object, or the short form "type:id".
func (t *APIAllowListTarget) UnmarshalJSON(b []byte) error {
	var short string
	if json.Unmarshal(b, &short) == nil {
		kind, id, ok := strings.Cut(short, ":")
		if !ok {
			return Invalid("allow_list", "%.80q is not valid; use the form type:id, such as workspace:*", short)
		}
		t.Type, t.ID = RBACResource(kind), id
		return nil
	}
	type plain APIAllowListTarget
	return json.Unmarshal(b, (*plain)(t))
}

// CreateTokenRequest creates an API token.
type CreateTokenRequest struct {
	AllowList []APIAllowListTarget `json:"allow_list,omitempty"`
	Lifetime  time.Duration        `json:"lifetime,omitempty"`
	Scope     APIKeyScope          `json:"scope,omitempty"`
	Scopes    []APIKeyScope        `json:"scopes,omitempty"`
	TokenName string               `json:"token_name,omitempty"`
}

// GenerateAPIKeyResponse carries the secret of a new key. It is returned once.
type GenerateAPIKeyResponse struct {
	Key string `json:"key"`
}

// TokenConfig holds the limit on token lifetimes.
type TokenConfig struct {
	MaxTokenLifetime time.Duration `json:"max_token_lifetime"`
}

// LoginWithPasswordRequest exchanges an email address and a password for a session.
type LoginWithPasswordRequest struct {
	Email    string `json:"email"`
	Password string `json:"password"`
}

// LoginWithPasswordResponse carries the session token. It is returned once.
type LoginWithPasswordResponse struct {
	SessionToken string `json:"session_token"`
}

// ExternalAPIKeyScopes is the public catalog of token scopes.
type ExternalAPIKeyScopes struct {
	External []APIKeyScope `json:"external"`
}
