// Package credential hashes and checks passwords, tokens and passcodes. It stores nothing.
package credential

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"golang.org/x/crypto/argon2"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Parameters of argon2id: the first choice of the OWASP Password Storage Cheat Sheet
// (19 MiB, 2 passes, 1 lane), with which hundreds of users sign in within seconds.
// Hashes with other parameters are still verified.
const (
	argonTime    = 2
	argonMemory  = 19 << 10 // KiB
	argonLanes   = 1
	argonKey     = 32
	argonSalt    = 16
	hashPatience = 20 * time.Second // longest wait for a slot
)

// Limits of a password. The entropy is a rough estimate in bits.
const (
	minPassword = 8
	maxPassword = 128
	minEntropy  = 40
)

// HashesAtOnce is the number of passwords that a Hasher hashes at the same time. Together
// they need at most 76 MiB.
const HashesAtOnce = 4

// Hasher hashes passwords with argon2id, at most HashesAtOnce at the same time. Callers
// beyond that wait up to 20 seconds, and then get CodeUnavailable. It is safe for
// concurrent use.
type Hasher struct{ slots chan struct{} }

// NewHasher returns a Hasher.
func NewHasher() *Hasher { return &Hasher{slots: make(chan struct{}, HashesAtOnce)} }

// Hash returns the PHC string of a password.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	release, err := h.slot(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	salt := make([]byte, argonSalt)
	rand.Read(salt) //nolint:errcheck // documented never to fail
	key := argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonLanes, argonKey)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonLanes,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key)), nil
}

// Verify reports whether the password matches the PHC string. It takes as long for an
// empty string, which never matches, so that timing does not reveal which users exist.
func (h *Hasher) Verify(ctx context.Context, password, phc string) (bool, error) {
	return h.VerifyIf(ctx, func() error { return nil }, password, phc)
}

// VerifyIf is Verify, unless may returns an error once there is a free slot.
func (h *Hasher) VerifyIf(ctx context.Context, may func() error, password, phc string) (bool, error) {
	release, err := h.slot(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	if err := may(); err != nil {
		return false, err
	}
	if len(password) > maxPassword {
		password = password[:maxPassword] + "too long"
	}
	var version, memory, passes uint32
	var lanes uint8
	salt, want := make([]byte, argonSalt), make([]byte, argonKey)
	known := false
	if parts := strings.Split(phc, "$"); len(parts) == 6 && parts[1] == "argon2id" {
		s, err1 := base64.RawStdEncoding.DecodeString(parts[4])
		w, err2 := base64.RawStdEncoding.DecodeString(parts[5])
		_, err3 := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &memory, &passes, &lanes)
		if err1 == nil && err2 == nil && err3 == nil && version == argon2.Version && len(w) > 0 && passes > 0 && lanes > 0 {
			salt, want, known = s, w, true
		}
	}
	if !known {
		memory, passes, lanes = argonMemory, argonTime, argonLanes
	}
	got := argon2.IDKey([]byte(password), salt, passes, memory, lanes, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1 && known, nil
}

func (h *Hasher) slot(ctx context.Context) (func(), error) {
	select {
	case h.slots <- struct{}{}:
		return func() { <-h.slots }, nil
	case <-time.After(hashPatience):
		return nil, codersdk.Errorf(codersdk.CodeUnavailable, "Too many concurrent sign-ins; try again in a moment").WithRetryAfter(hashPatience)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// CheckPassword rejects a password that is too short, too long, or too easy.
func CheckPassword(field, password string) error {
	switch {
	case len(password) < minPassword:
		return codersdk.Invalid(field, "must be at least %d characters", minPassword)
	case len(password) > maxPassword:
		return codersdk.Invalid(field, "must be at most %d characters", maxPassword)
	case entropy(password) < minEntropy:
		return codersdk.Invalid(field, "is too easy to guess; make it longer, or mix letters, digits and symbols")
	}
	return nil
}

// entropy estimates the entropy of a password in bits: the size of the character
// classes that it uses, times the characters that do not continue a sequence.
func entropy(password string) float64 {
	alphabet, fresh := 0, 0.0
	kinds := map[int]bool{}
	last := rune(-2)
	for _, r := range password {
		size := 33
		switch {
		case unicode.IsLower(r):
			size = 26
		case unicode.IsUpper(r):
			size = 27 // apart from lower case in the set of kinds
		case unicode.IsDigit(r):
			size = 10
		case r > unicode.MaxASCII:
			size = 100
		}
		if !kinds[size] {
			kinds[size] = true
			alphabet += size
		}
		if d := r - last; d < -1 || d > 1 {
			fresh++
		} else {
			fresh += 0.25
		}
		last = r
	}
	if alphabet == 0 {
		return 0
	}
	return fresh * math.Log2(float64(alphabet))
}
