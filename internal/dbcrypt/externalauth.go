package dbcrypt

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// LinkSecrets are the secrets of a link to an external provider in clear. Extra is a JSON object, "" for
// none.
type LinkSecrets struct{ Access, Refresh, Extra string }

// externalPlace is the place of a secret in a row of external_auth_links.
func externalPlace(column string, l sqlc.ExternalAuthLink) string {
	return "external_auth_links " + column + " " + l.UserID.String() + " " + l.ProviderID
}

// SealLink seals the secrets of a link into its row, whose user and provider are set.
func (v *Vault) SealLink(l *sqlc.ExternalAuthLink, s LinkSecrets) {
	l.AccessToken, l.AccessTokenKeyID = v.SealText(externalPlace("access_token", *l), s.Access)
	l.RefreshToken, l.RefreshTokenKeyID = v.SealText(externalPlace("refresh_token", *l), s.Refresh)
	l.Extra, l.ExtraKeyID = v.SealText(externalPlace("extra", *l), s.Extra)
}

// OpenLink returns the secrets of a link.
func (v *Vault) OpenLink(l sqlc.ExternalAuthLink) (s LinkSecrets, err error) {
	if s.Access, err = v.OpenText(externalPlace("access_token", l), l.AccessToken, l.AccessTokenKeyID); err != nil {
		return s, err
	}
	if s.Refresh, err = v.OpenText(externalPlace("refresh_token", l), l.RefreshToken, l.RefreshTokenKeyID); err != nil {
		return s, err
	}
	s.Extra, err = v.OpenText(externalPlace("extra", l), l.Extra, l.ExtraKeyID)
	return s, err
}

func moveLinks(ctx context.Context, q *sqlc.Queries, m move, _ uuid.UUID) (uuid.UUID, int64, int64, error) {
	rows, err := q.ExternalAuthSealed(ctx, m.digest(), m.plain)
	return forEach(rows, err, func(l sqlc.ExternalAuthLink) (uuid.UUID, error) {
		s, err := m.from.OpenLink(l)
		if err != nil {
			return l.UserID, err
		}
		m.to.SealLink(&l, s)
		return l.UserID, q.ExternalAuthReseal(ctx, sqlc.ExternalAuthResealParams{
			UserID: l.UserID, ProviderID: l.ProviderID, AccessToken: l.AccessToken, AccessTokenKeyID: l.AccessTokenKeyID,
			RefreshToken: l.RefreshToken, RefreshTokenKeyID: l.RefreshTokenKeyID, Extra: l.Extra, ExtraKeyID: l.ExtraKeyID,
		})
	})
}
