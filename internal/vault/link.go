package vault

import "github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"

// Tokens are what an identity provider gave a user, as they are.
type Tokens struct{ Access, Refresh string }

// SealedTokens are tokens as they stand in user_links.
type SealedTokens struct {
	Access, AccessKey   string
	Refresh, RefreshKey string
}

// linkPlace is the place of a token of a row of user_links.
func linkPlace(column string, l sqlc.UserLink) string {
	return "user_links " + column + " " + l.UserID.String() + " " + l.LoginType
}

// SealTokens seals the tokens of a user's account, of which only the user and
// the way of logging in are looked at.
func (v *Vault) SealTokens(l sqlc.UserLink, t Tokens) (s SealedTokens) {
	s.Access, s.AccessKey = v.SealText(linkPlace("access_token", l), t.Access)
	s.Refresh, s.RefreshKey = v.SealText(linkPlace("refresh_token", l), t.Refresh)
	return s
}

// OpenTokens gives the tokens of a user's account.
func (v *Vault) OpenTokens(l sqlc.UserLink) (t Tokens, err error) {
	if t.Access, err = v.OpenText(linkPlace("access_token", l), l.AccessToken, l.AccessTokenKeyID); err != nil {
		return t, err
	}
	t.Refresh, err = v.OpenText(linkPlace("refresh_token", l), l.RefreshToken, l.RefreshTokenKeyID)
	return t, err
}

// SealKey seals the secret of a signing key.
func (v *Vault) SealKey(k sqlc.CryptoKey) (sealed []byte, digest string) {
	return v.Seal(keyPlace(k), k.Secret)
}

// OpenKey gives the secret of a signing key.
func (v *Vault) OpenKey(k sqlc.CryptoKey) ([]byte, error) {
	return v.Open(keyPlace(k), k.Secret, k.SecretKeyID)
}

func keyPlace(k sqlc.CryptoKey) string { return "crypto_keys secret " + k.Feature }
