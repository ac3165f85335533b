//go:build darwin || windows

package cli

import (
	"errors"

	"github.com/zalando/go-keyring"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
)

// keyringService is the service name of the stored credentials in the keyring.
const keyringService = "coder-v2-credentials"

// osKeyring is the macOS keychain or the Windows credential manager.
type osKeyring struct{}

func systemKeyring() command.Keyring { return osKeyring{} }

// Get implements command.Keyring.
func (osKeyring) Get(account string) (string, error) {
	secret, err := keyring.Get(keyringService, account)
	if errors.Is(err, keyring.ErrNotFound) {
		return "", nil
	}
	return secret, err
}

// Set implements command.Keyring.
func (osKeyring) Set(account, secret string) error {
	return keyring.Set(keyringService, account, secret)
}

// Delete implements command.Keyring.
func (osKeyring) Delete(account string) error {
	err := keyring.Delete(keyringService, account)
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return err
}
