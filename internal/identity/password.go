package identity

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"unicode"

	"golang.org/x/crypto/argon2"

	"github.com/seed-2a7f8fe7/coder"
)

// argon2id as the Internet's second recommendation for it has it (RFC 9106:
// 64 MiB, 3 passes), with one lane, since a server hashes for many at a time.
const (
	argonTime    = 3
	argonMemory  = 64 << 10 // KiB
	argonLanes   = 1
	argonKey     = 32
	argonSalt    = 16
	hashesAtOnce = 4 // 256 MiB at most
)

// Bounds of a password. The entropy is a rough estimate in bits.
const (
	minPassword = 8
	maxPassword = 128
	minEntropy  = 40
)

// hash makes the PHC text of a password. It waits for a free slot.
func (s *Service) hash(ctx context.Context, password string) (string, error) {
	release, err := s.slot(ctx)
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

// verify says whether the password fits the PHC text. It takes as long for an
// empty text, which never fits: so the time tells nobody which users exist.
func (s *Service) verify(ctx context.Context, password, phc string) (bool, error) {
	release, err := s.slot(ctx)
	if err != nil {
		return false, err
	}
	defer release()
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

func (s *Service) slot(ctx context.Context) (func(), error) {
	select {
	case s.hashes <- struct{}{}:
		return func() { <-s.hashes }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// CheckPassword refuses a password that is too short, too long, or too easy.
func CheckPassword(field, password string) error {
	switch {
	case len(password) < minPassword:
		return coder.Invalid(field, "must be at least %d characters", minPassword)
	case len(password) > maxPassword:
		return coder.Invalid(field, "must be at most %d characters", maxPassword)
	case entropy(password) < minEntropy:
		return coder.Invalid(field, "is too easy to guess; make it longer, or mix letters, digits and signs")
	}
	return nil
}

// entropy estimates the bits of a password: the size of the alphabets it draws
// from, by the letters that are not repetitions or neighbours of the last one.
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
