package codersdk

import (
	"time"

	"github.com/google/uuid"
)

// ServiceAccount holds what applies to a service account in addition to a user.
type ServiceAccount struct {
	UserID   uuid.UUID `json:"user_id"`
	Username string    `json:"username"`
	// OwnerID is the user who is responsible for the account and can manage its tokens; nil for none.
	OwnerID       *uuid.UUID `json:"owner_id"`
	OwnerUsername string     `json:"owner_username"`
	OwnerStatus   UserStatus `json:"owner_status"` // "" without an owner, or if the owner was deleted
	// ExpiresAt is the end of the account: no token is valid later. Nil means never.
	ExpiresAt *time.Time `json:"expires_at"`
	// Scopes are those that tokens of the account can have; empty means all.
	Scopes []APIKeyScope `json:"scopes"`
}

// UpdateServiceAccountRequest replaces the settings of a service account. A nil owner means none.
type UpdateServiceAccountRequest struct {
	OwnerID   *uuid.UUID    `json:"owner_id,omitempty"`
	ExpiresAt *time.Time    `json:"expires_at,omitempty"`
	Scopes    []APIKeyScope `json:"scopes,omitempty"`
}
