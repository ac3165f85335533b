package command

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Keyring stores secrets in the operating system's credential store. Each
// account is the address of a server.
type Keyring interface {
	// Get returns the secret of an account, or "" when there is none.
	Get(account string) (string, error)
	// Set stores the secret of an account and replaces an earlier one.
	Set(account, secret string) error
	// Delete removes the secret of an account. A missing secret is not an
	// error.
	Delete(account string) error
}

// account returns the keyring account of the server at u.
func account(u *url.URL) string {
	return strings.ToLower(u.Host) + strings.TrimSuffix(u.Path, "/")
}

// KeyringInUse reports whether sessions are stored in the keyring. With an
// explicit --global-config the session is stored in that directory instead.
func (a *Run) KeyringInUse() bool {
	return a.Keyring != nil && a.useKeyring && !a.configDir.Given()
}

// Session returns the stored session for the server at u, or "". The keyring
// comes first. A session in the configuration directory is returned for any
// address, because a server may have several.
func (a *Run) Session(u *url.URL) (string, error) {
	if token := a.keyringSession(u); token != "" {
		return token, nil
	}
	return a.Stored("session")
}

// SessionOf is like Session, but ignores a session that was stored for another
// address.
func (a *Run) SessionOf(u *url.URL) (string, error) {
	if token := a.keyringSession(u); token != "" {
		return token, nil
	}
	if here, err := a.storedFor(u); !here {
		return "", err
	}
	return a.Stored("session")
}

// keyringSession returns the session in the keyring. It returns "" when there
// is none or the keyring cannot be read.
func (a *Run) keyringSession(u *url.URL) string {
	if !a.KeyringInUse() {
		return ""
	}
	token, err := a.Keyring.Get(account(u))
	if err != nil {
		a.Warn(fmt.Sprintf("the keyring cannot be read (%v); use --use-keyring=false to store the session in a file", err))
	}
	return token
}

// StoreSession stores a session for the server at u, and stores u as the
// default server of later commands.
func (a *Run) StoreSession(u *url.URL, token string) error {
	kept := false
	if a.KeyringInUse() {
		err := a.Keyring.Set(account(u), token)
		if kept = err == nil; !kept {
			a.Warn(fmt.Sprintf("the keyring cannot be used (%v); the session is stored in %s instead", err, a.ConfigDir))
		}
	}
	var err error
	if kept {
		err = a.Forget("session") // an older session
	} else {
		err = a.Store("session", token)
	}
	return errors.Join(err, a.Store("url", u.String()))
}

// storedFor reports whether the stored URL is that of the server at u, or
// absent.
func (a *Run) storedFor(u *url.URL) (bool, error) {
	s, err := a.Stored("url")
	if err != nil || s == "" {
		return err == nil, err
	}
	stored, err := ParseServer(s)
	return err == nil && stored.Scheme == u.Scheme && account(stored) == account(u), nil
}

// ForgetSession removes the stored session for the server at u, and the stored
// URL if it is that of the server.
func (a *Run) ForgetSession(u *url.URL) error {
	if a.KeyringInUse() {
		if err := a.Keyring.Delete(account(u)); err != nil {
			a.Warn(fmt.Sprintf("the keyring cannot be used (%v); a session in it stays there", err))
		}
	}
	here, err := a.storedFor(u)
	if here {
		err = errors.Join(a.Forget("session"), a.Forget("url"))
	}
	return err
}
