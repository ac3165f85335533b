// Package sessions groups who may use the server and how users sign in:
// accounts, organizations, sessions, tokens, OpenID Connect, GitHub and the
// email that resets passwords.
package sessions

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/calendar"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/identity/operator"
	"github.com/seed-2a7f8fe7/coder/internal/login"
	"github.com/seed-2a7f8fe7/coder/internal/mail"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
)

// Config describes how users sign in. A zero duration means the default of the
// comment.
type Config struct {
	Duration             time.Duration // of a session, 24 h
	DisableRefresh       bool          // sessions end although they are used
	DisablePasswordAuth  bool
	DefaultTokenLifetime time.Duration // 168 h
	MaxTokenLifetime     time.Duration // 876600 h
	MaxAdminLifetime     time.Duration // of owners' tokens, 168 h

	OIDC   login.OIDC   // without an issuer: off
	GitHub login.GitHub // without a client id: off
	Mail   mail.Config  // without a smarthost: no email is sent
	// OlderMail are the values of the options with older names, which win over Mail.
	OlderMail mail.Config

	SSHKeyAlgorithm        string // of users' git keys: ed25519, ecdsa, rsa4096
	NoOwnerWorkspaceAccess bool   // owners may not enter workspaces of others
	NoWorkspaceSharing     bool
	OperatorToken          string // of the operator's account; "": none. See operator.Admit
	TermsOfServiceURL      string
}

// Secrets returns the secrets of the configuration, for redaction.
func (c Config) Secrets() []string {
	return []string{c.OperatorToken, c.Mail.Password, c.OlderMail.Password, c.OIDC.ClientSecret, c.GitHub.ClientSecret}
}

// Group is the use cases of users and their sessions.
type Group struct {
	Identity      *identity.Service
	Login         *login.Service
	Organizations *organization.Service
}

// New creates the group, and in the database what a new deployment needs.
// Quiet states when workspaces that must stop once a day do.
func New(ctx context.Context, b *base.Base, c Config, quiet calendar.Quiet) (*Group, error) {
	if _, err := b.Store.EnsureDefaultOrganization(ctx, uuid.New(), b.Now()); err != nil {
		return nil, fmt.Errorf("create the default organization: %w", err)
	}
	if c.OperatorToken != "" {
		if err := operator.Admit(ctx, b.Store, c.OperatorToken, b.Now().UTC()); err != nil {
			return nil, err
		}
	}
	secret, err := b.Secret(ctx, "logins", 32)
	if err != nil {
		return nil, err
	}
	g := &Group{Organizations: organization.New(organization.Config{Store: b.Store, Hub: b.Hub, Now: b.Now})}
	g.Identity = identity.New(identity.Config{
		Store: b.Store, Log: b.Logger("identity"), Now: b.Now, Hub: b.Hub, Vault: b.Vault, SendsEmail: c.Email().Smarthost != "",
		SessionDuration:       c.Duration,
		DisableSessionRefresh: c.DisableRefresh,
		DefaultTokenLifetime:  c.DefaultTokenLifetime,
		MaxTokenLifetime:      c.MaxTokenLifetime,
		MaxAdminTokenLifetime: c.MaxAdminLifetime,
		DisablePasswordAuth:   c.DisablePasswordAuth,

		DisableOwnerWorkspaceAccess: c.NoOwnerWorkspaceAccess,
		DisableWorkspaceSharing:     c.NoWorkspaceSharing,
		SSHKeyAlgorithm:             c.SSHKeyAlgorithm,
		Quiet:                       quiet,
		Verify: func(ctx context.Context, id uuid.UUID, by codersdk.LoginType) error {
			return g.Login.Verify(ctx, id, by)
		},
	})
	g.Login, err = login.New(login.Config{
		Store: b.Store, Identity: g.Identity, Log: b.Logger("login"), Now: b.Now, AccessURL: b.AccessURL, Secret: secret, Vault: b.Vault,
		OIDC: c.OIDC, GitHub: c.GitHub, Transport: b.Outgoing, Metrics: b.Requests(),
	})
	return g, err
}
