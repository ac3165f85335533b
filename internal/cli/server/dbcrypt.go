package server

import (
	"context"
	"fmt"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/server/database"
)

// dbcryptCommand returns the commands that change the encryption keys of the
// database. (ENC-01)
func dbcryptCommand(a *command.Run) *command.Command {
	return &command.Command{
		Name:  "dbcrypt",
		Short: "Manage the encryption of secrets in the database",
		Long: "The server encrypts SSH keys of users, Terraform states, sensitive template variables, user secrets, tokens of identity " +
			"providers and its signing keys with the first key of --external-token-encryption-keys. Without keys, the " +
			"built-in database uses a generated key beside it. These commands access the database directly.",
		Subs: []*command.Command{dbcryptRotate(a), dbcryptDecrypt(a), dbcryptDelete(a)},
	}
}

// dbcrypt completes one of these commands. question is the confirmation; run
// does the work and returns the success message.
func dbcrypt(
	a *command.Run,
	c command.Command,
	question string,
	options []*option.Option,
	do func(context.Context, database.Config) (string, error),
) *command.Command {
	var f databaseFlags
	var yes bool
	c.Options = append(append(f.options(), options...), command.Yes(&yes))
	c.Run = func(ctx context.Context, _ []string) error {
		if err := a.Confirm(question, yes); err != nil {
			return err
		}
		cfg, done, err := databaseConfig(a, &f)
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

func dbcryptRotate(a *command.Run) *command.Command {
	var fresh string
	var old []string
	return dbcrypt(a, command.Command{
		Name: "rotate", Max: 0,
		Short: "Encrypt all data with a new key",
		Long: "First add the new key before the old ones on all servers; remove the old keys afterwards. Without " +
			"old keys, only unencrypted data is encrypted.",
	}, "Encrypt all secrets in the database with the new key?", []*option.Option{
		option.String(&fresh, "new-key", "New key: 32 bytes in base64").Env("CODER_EXTERNAL_TOKEN_ENCRYPTION_ENCRYPT_NEW_KEY"),
		option.List(&old, "old-keys", "Previous keys").Env("CODER_EXTERNAL_TOKEN_ENCRYPTION_ENCRYPT_OLD_KEYS"),
	}, func(ctx context.Context, c database.Config) (string, error) {
		if fresh == "" {
			return "", command.Failure("--new-key is required; create one with 'openssl rand -base64 32'")
		}
		n, err := database.RotateEncryption(ctx, c, append([]string{fresh}, old...))
		return "Encrypted " + n.String() + ". The old keys are no longer needed.", err
	})
}

func dbcryptDecrypt(a *command.Run) *command.Command {
	var keys []string
	return dbcrypt(a, command.Command{
		Name: "decrypt", Max: 0,
		Short: "Decrypt all data, so that no key is needed",
		Long: "Stop all servers first. Start them with --external-token-encryption-keys none afterwards, or secrets are " +
			"encrypted again.",
	}, "Decrypt all secrets in the database? All servers must be stopped.", []*option.Option{
		option.List(&keys, "keys", "Keys to decrypt with").Env("CODER_EXTERNAL_TOKEN_ENCRYPTION_DECRYPT_KEYS"),
	}, func(ctx context.Context, c database.Config) (string, error) {
		n, err := database.Decrypt(ctx, c, keys)
		return "Decrypted " + n.String() + ". Keys are no longer needed.", err
	})
}

func dbcryptDelete(a *command.Run) *command.Command {
	c := dbcrypt(a, command.Command{
		Name: "delete", Aliases: []string{"rm"}, Max: 0,
		Short: "Delete all encrypted data, for use when a key is lost",
		Long: "Stop all servers first. Workspaces lose their Terraform state: their resources must be removed by hand. " +
			"Sensitive variables must be set again with a new template version. Users create new SSH keys for git, users " +
			"of identity providers sign in again, user secrets are deleted, and app sessions end.",
	}, "Delete all encrypted secrets in the database? Workspaces lose their Terraform state. All servers must be stopped.", nil,
		func(ctx context.Context, c database.Config) (string, error) {
			n, err := database.DropEncrypted(ctx, c)
			return "Deleted " + n.String() + ". Keys are no longer needed.", err
		})
	c.Options[0].Env("CODER_EXTERNAL_TOKEN_ENCRYPTION_POSTGRES_URL")
	return c
}
