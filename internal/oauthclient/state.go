package oauthclient

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Sealer encrypts and authenticates the state that a browser keeps in a cookie. It is safe for concurrent
// use.
type Sealer struct{ aead cipher.AEAD }

// NewSealer returns a Sealer whose key is derived from a secret of at least 32 bytes, the same on all
// servers of the deployment. Sealers of different purposes cannot open each other's states.
func NewSealer(secret []byte, purpose string) (*Sealer, error) {
	if len(secret) < 32 {
		return nil, codersdk.Errorf(codersdk.CodeInternal, "the secret of sign-in states has %d bytes, needs 32", len(secret))
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(purpose))
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		return nil, fmt.Errorf("create the cipher of sign-in states: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("create the cipher of sign-in states: %w", err)
	}
	return &Sealer{aead}, nil
}

// Seal returns v as JSON, sealed and bound to a context, in characters of a cookie's value.
func (s *Sealer) Seal(v any, context string) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("seal the sign-in state: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, b, []byte(context))), nil
}

// Open decodes a sealed value into v and reports whether it was sealed by this deployment for the context.
func (s *Sealer) Open(sealed, context string, v any) bool {
	b, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil || len(b) < s.aead.Overhead() {
		return false
	}
	plain, err := s.aead.Open(nil, nil, b, []byte(context))
	return err == nil && json.Unmarshal(plain, v) == nil
}

// SafeRedirect returns to if it is a path of this server or a URL below the access URL, and "/" otherwise.
// This prevents open redirects.
func SafeRedirect(to string, accessURL *url.URL) string {
	if strings.ContainsAny(to, "\\\x00\r\n\t") || len(to) > 2000 {
		return "/"
	}
	u, err := url.Parse(to)
	if err != nil || u.Opaque != "" || u.User != nil {
		return "/"
	}
	if u.Host != "" || u.Scheme != "" {
		if accessURL == nil || u.Scheme != accessURL.Scheme || u.Host != accessURL.Host {
			return "/"
		}
		u.Scheme, u.Host = "", ""
	}
	path := u.String()
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") {
		return "/"
	}
	return path
}
