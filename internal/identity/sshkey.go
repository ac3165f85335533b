package identity

import (
	"context"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/identity/gitkey"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// GitSSHKey returns the public key of a user's git key pair.
func (s *Service) GitSSHKey(ctx context.Context, actor access.Subject, ref string) (codersdk.GitSSHKey, error) {
	u, err := s.userRow(ctx, s.c.Store.Queries, actor, ref)
	if err != nil {
		return codersdk.GitSSHKey{}, err
	}
	if err := actor.Check(codersdk.RBACActionReadPersonal, userObject(u.ID)); err != nil {
		return codersdk.GitSSHKey{}, err
	}
	return gitSSHKey(u), nil
}

// RegenerateGitSSHKey replaces the key pair of a user.
func (s *Service) RegenerateGitSSHKey(ctx context.Context, actor access.Subject, ref string) (codersdk.GitSSHKey, error) {
	public, private, err := gitkey.New(s.c.SSHKeyAlgorithm)
	if err != nil {
		return codersdk.GitSSHKey{}, err
	}
	var out codersdk.GitSSHKey
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		u, err := s.userRow(ctx, q, actor, ref)
		if err != nil {
			return err
		}
		if err := actor.Check(codersdk.RBACActionUpdatePersonal, userObject(u.ID)); err != nil {
			return err
		}
		if err := protectOwner(actor, u); err != nil {
			return err
		}
		sealed, digest := s.c.Vault.SealSSHKey(u.ID, private)
		row, err := q.UpdateUserSSHKey(ctx, sqlc.UpdateUserSSHKeyParams{
			ID: u.ID, SshPublicKey: public, SshPrivateKey: sealed, SshPrivateKeyKeyID: digest, Now: s.now(),
		})
		if err != nil {
			return err
		}
		out = gitSSHKey(row)
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeGitSSHKey, ResourceID: u.ID, Target: u.Username,
			Diff: audit.Diff(gitSSHKey(u), out),
		})
	})
	return out, err
}

func gitSSHKey(u sqlc.User) codersdk.GitSSHKey {
	k := codersdk.GitSSHKey{UserID: u.ID, PublicKey: u.SshPublicKey, CreatedAt: u.CreatedAt, UpdatedAt: u.CreatedAt}
	if u.SshKeyUpdatedAt != nil {
		k.UpdatedAt = *u.SshKeyUpdatedAt
	}
	return k
}
