package user

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

func secretImportCommand(a *command.Run) *command.Command {
	var format string
	return &command.Command{
		Name: "import", Args: "<file>", Min: 1, Max: 1,
		Short: "Create the user secrets of a file",
		Long: "Creates all secrets of the file, or none. A secret that exists is never changed. A name that has only a " +
			"value becomes an environment variable. In JSON and YAML, a name can also have an object with value, " +
			"description, env_name, file_path and enabled. '-' is standard input.",
		Examples: []command.Example{
			{Text: "Create a secret for each variable of a file", Line: "coder secret import .env"},
			{Text: "Read JSON from another program", Line: "vault kv get -format=json -field=data kv/me | coder secret import - --input-format json"},
		},
		Options: []*option.Option{
			option.Choice(&format, "input-format", "Format of the file; by default that of its extension, else env",
				string(codersdk.UserSecretFormatEnv), string(codersdk.UserSecretFormatJSON), string(codersdk.UserSecretFormatYAML)),
		},
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			content, err := readSecrets(a, args[0])
			if err != nil {
				return err
			}
			all, err := c.CreateUserSecrets(ctx, "me", codersdk.CreateUserSecretsRequest{Content: content, Format: secretFormat(format, args[0])})
			if err != nil {
				return err
			}
			for _, s := range all {
				if _, err := fmt.Fprintf(a.Stdout, "Created secret %s.\n", s.Name); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// secretFormat returns the format that was asked for, or that of the file's extension.
func secretFormat(given, file string) codersdk.UserSecretFormat {
	if given != "" {
		return codersdk.UserSecretFormat(given)
	}
	switch strings.ToLower(filepath.Ext(file)) {
	case ".json":
		return codersdk.UserSecretFormatJSON
	case ".yaml", ".yml":
		return codersdk.UserSecretFormatYAML
	}
	return codersdk.UserSecretFormatEnv
}

// readSecrets reads a file, or standard input for "-".
func readSecrets(a *command.Run, file string) (string, error) {
	from := a.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", fmt.Errorf("read the secrets: %w", err)
		}
		defer f.Close()
		from = f
	}
	b, err := io.ReadAll(io.LimitReader(from, 1<<20)) // the server has a lower limit
	if err != nil {
		return "", fmt.Errorf("read the secrets: %w", err)
	}
	return string(b), nil
}
