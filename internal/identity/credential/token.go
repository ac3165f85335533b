package credential

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Lengths of the two parts of a token. (AU-02)
const (
	TokenIDLength     = 10
	TokenSecretLength = 22
)

// letters are the characters of tokens.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// RandomText returns n letters and digits from the system's random source. It discards
// bytes that would make some characters more likely than others.
func RandomText(n int) string {
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

// NewToken returns a new token, its ID, and the stored hash of its secret.
func NewToken() (token, id string, hash []byte) {
	id, secret := RandomText(TokenIDLength), RandomText(TokenSecretLength)
	h := sha256.Sum256([]byte(secret))
	return id + "-" + secret, id, h[:]
}

// ParseToken splits a token without checking its validity.
func ParseToken(token string) (id, secret string, err error) {
	id, secret, ok := strings.Cut(token, "-")
	if !ok || len(id) != TokenIDLength || len(secret) != TokenSecretLength || strings.Trim(id, letters) != "" {
		return "", "", codersdk.Errorf(codersdk.CodeUnauthenticated, "The session token is not valid on this server. Sign in again.")
	}
	return id, secret, nil
}

// Matches compares a secret with the stored hash in constant time.
func Matches(secret string, hash []byte) bool {
	h := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(h[:], hash) == 1
}

// IsToken reports whether text has the form of a session or API token. The token need
// not exist.
func IsToken(text string) bool {
	_, secret, err := ParseToken(text)
	return err == nil && strings.Trim(secret, letters) == ""
}

// PasscodeTime is the validity period of a passcode.
const PasscodeTime = 20 * time.Minute

// HashPasscode returns the stored hash of a passcode. Passcodes are long and random,
// so the hash is of no use to a reader of the database, and comparing it in SQL leaks
// nothing through timing.
func HashPasscode(user uuid.UUID, passcode string) []byte {
	h := sha256.Sum256([]byte("passcode " + user.String() + " " + strings.ToUpper(strings.TrimSpace(passcode))))
	return h[:]
}
