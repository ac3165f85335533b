package serve

import (
	"context"
	"fmt"

	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/server"
)

// dbcryptCommand is what changes the keys that the database is encrypted with.
// (ENC-01)
func dbcryptCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name:  "dbcrypt",
		Short: "Change the keys that tokens in the database are encrypted with.",
		Long: "The server encrypts the tokens of identity providers, and the keys it signs with, by the first of " +
			"--external-token-encryption-keys. These commands work on the database itself.",
		Subs: []*app.Command{dbcryptRotate(a), dbcryptDecrypt(a), dbcryptDelete(a)},
	}
}

// dbcrypt is one of the commands: options beside those of the database, what is
// lost, and what is done.
func dbcrypt(a *app.Run, c app.Command, question string, options []*option.Option, do func(context.Context, server.Config) (string, error)) *app.Command {
	var f databaseFlags
	var yes bool
	c.Options = append(append(f.options(), options...), app.Yes(&yes))
	c.Run = func(ctx context.Context, _ []string) error {
		if err := a.Confirm(question, yes); err != nil {
			return err
		}
		cfg, done, err := serverConfig(a, &f)
		if err != nil {
			return err
		}
		defer done() //nolint:errcheck // a log of standard error
		said, err := do(ctx, cfg)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(a.Stdout, said)
		return err
	}
	return &c
}

func dbcryptRotate(a *app.Run) *app.Command {
	var fresh string
	var old []string
	return dbcrypt(a, app.Command{
		Name: "rotate", Max: 0,
		Short: "Encrypt everything anew with a key.",
		Long:  "Give the servers the new key before the old ones first, and take the old ones away afterwards. Without old keys, what is not encrypted yet is.",
	}, "Encrypt all tokens in the database anew?", []*option.Option{
		option.String(&fresh, "new-key", "Key to encrypt with: 32 bytes in base64.").Env("CODER_EXTERNAL_TOKEN_ENCRYPTION_ENCRYPT_NEW_KEY"),
		option.List(&old, "old-keys", "Keys that were used before.").Env("CODER_EXTERNAL_TOKEN_ENCRYPTION_ENCRYPT_OLD_KEYS"),
	}, func(ctx context.Context, c server.Config) (string, error) {
		if fresh == "" {
			return "", app.Failure("--new-key is required; 'openssl rand -base64 32' makes one")
		}
		n, err := server.RotateEncryption(ctx, c, append([]string{fresh}, old...))
		return fmt.Sprintf("Encrypted the tokens of %d accounts and %d signing keys. The old keys are needed no more.", n.Accounts, n.Keys), err
	})
}

func dbcryptDecrypt(a *app.Run) *app.Command {
	var keys []string
	return dbcrypt(a, app.Command{
		Name: "decrypt", Max: 0,
		Short: "Write everything down unencrypted, so that no key is needed.",
		Long:  "Stop all servers first, and start them without keys.",
	}, "Keep all tokens in the database unencrypted? All servers must be stopped.", []*option.Option{
		option.List(&keys, "keys", "Keys that everything can be decrypted with.").Env("CODER_EXTERNAL_TOKEN_ENCRYPTION_DECRYPT_KEYS"),
	}, func(ctx context.Context, c server.Config) (string, error) {
		n, err := server.Decrypt(ctx, c, keys)
		return fmt.Sprintf("Decrypted the tokens of %d accounts and %d signing keys. No key is needed any more.", n.Accounts, n.Keys), err
	})
}

func dbcryptDelete(a *app.Run) *app.Command {
	c := dbcrypt(a, app.Command{
		Name: "delete", Aliases: []string{"rm"}, Max: 0,
		Short: "Drop everything that is encrypted, when a key is lost.",
		Long:  "Stop all servers first. People whose identity provider gave tokens sign in again, and sessions in apps end.",
	}, "Drop all encrypted tokens of the database? People sign in again. All servers must be stopped.", nil,
		func(ctx context.Context, c server.Config) (string, error) {
			n, err := server.DropEncrypted(ctx, c)
			return fmt.Sprintf("Dropped the tokens of %d accounts and %d signing keys. No key is needed any more.", n.Accounts, n.Keys), err
		})
	c.Options[0].Env("CODER_EXTERNAL_TOKEN_ENCRYPTION_POSTGRES_URL")
	return c
}

func encryptionOptions(f *serverFlags) []*option.Option {
	return under("Database",
		option.List(&f.cfg.EncryptionKeys, "external-token-encryption-keys", "Keys to encrypt tokens of others in the database with, base64, the newest first.").Env("CODER_EXTERNAL_TOKEN_ENCRYPTION_KEYS"),
	)
}
