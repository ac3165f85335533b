package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
)

// Lengths of the two parts of a token. (AU-02)
const (
	tokenIDLength     = 10
	tokenSecretLength = 22
)

// letters are what tokens are made of.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// randomText gives n letters and digits from the system's random source.
// Bytes that would make some letters likelier than others are thrown away.
func randomText(n int) string {
	out := make([]byte, 0, n)
	b := make([]byte, 2*n)
	for len(out) < n {
		rand.Read(b) //nolint:errcheck // documented never to fail
		for _, c := range b {
			if int(c) < len(letters)*4 && len(out) < n {
				out = append(out, letters[int(c)%len(letters)])
			}
		}
	}
	return string(out)
}

// newToken makes a token, its id, and what is stored of its secret.
func newToken() (token, id string, hash []byte) {
	id, secret := randomText(tokenIDLength), randomText(tokenSecretLength)
	h := sha256.Sum256([]byte(secret))
	return id + "-" + secret, id, h[:]
}

// parseToken splits a token; it says nothing about whether it is any good.
func parseToken(token string) (id, secret string, err error) {
	id, secret, ok := strings.Cut(token, "-")
	if !ok || len(id) != tokenIDLength || len(secret) != tokenSecretLength || strings.Trim(id, letters) != "" {
		return "", "", coder.Errorf(coder.CodeUnauthenticated, "The session token is not one of this server; log in again")
	}
	return id, secret, nil
}

// matches compares a secret with what is stored, in constant time.
func matches(secret string, hash []byte) bool {
	h := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(h[:], hash) == 1
}

// IsToken says whether text has the form of a session or API token of ours; it
// says nothing about whether it is one.
func IsToken(text string) bool {
	_, secret, err := parseToken(text)
	return err == nil && strings.Trim(secret, letters) == ""
}
