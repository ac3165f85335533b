package login

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/seed-2a7f8fe7/coder"
)

// StateLifetime is how long a login may take from its beginning to its end.
const StateLifetime = 10 * time.Minute

// state is what a login remembers between its beginning and its end, in a
// cookie of the browser that began it.
type state struct {
	By         coder.LoginType `json:"by"`
	State      string          `json:"state"`
	Nonce      string          `json:"nonce"`
	Verifier   string          `json:"verifier"` // of PKCE
	Redirect   string          `json:"redirect"`
	Conversion string          `json:"conversion,omitempty"`
	Ends       time.Time       `json:"ends"`
}

func newState(by coder.LoginType, redirect, conversion string, now time.Time) state {
	return state{
		By: by, State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(),
		Redirect: redirect, Conversion: conversion, Ends: now.Add(StateLifetime),
	}
}

// sealer makes of states what only this deployment can make and read.
type sealer struct{ aead cipher.AEAD }

func newSealer(secret []byte) (*sealer, error) {
	if len(secret) < 32 {
		return nil, coder.Errorf(coder.CodeInternal, "login: the secret has %d bytes, needs 32", len(secret))
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("states of logins"))
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		return nil, fmt.Errorf("make the cipher of logins: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("make the cipher of logins: %w", err)
	}
	return &sealer{aead}, nil
}

func (s *sealer) seal(st state) (string, error) {
	b, err := json.Marshal(st)
	if err != nil {
		return "", fmt.Errorf("seal the login: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, b, []byte(st.By))), nil
}

// open gives the state in a cookie, if it is that of the login that answers.
func (s *sealer) open(cookie string, by coder.LoginType, answered string, now time.Time) (state, error) {
	var st state
	refused := coder.Errorf(coder.CodeForbidden, "This login was not begun in this browser, or too long ago, or is over already; begin to log in again")
	sealed, err := base64.RawURLEncoding.DecodeString(cookie)
	if err != nil || len(sealed) < s.aead.Overhead() {
		return st, refused
	}
	plain, err := s.aead.Open(nil, nil, sealed, []byte(by))
	if err != nil || json.Unmarshal(plain, &st) != nil {
		return state{}, refused
	}
	if subtle.ConstantTimeCompare([]byte(st.State), []byte(answered)) != 1 || !now.Before(st.Ends) {
		return state{}, refused
	}
	return st, nil
}

// safeRedirect gives a path of this server: where to is one, or a URL below
// the access URL; "/" otherwise. Nobody shall make a link to our login that
// ends on a page of theirs.
func safeRedirect(to string, accessURL *url.URL) string {
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
