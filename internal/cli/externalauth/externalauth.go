// Package externalauth is the commands that ask the server for tokens of external
// providers: external-auth, and the one that git asks for a password.
package externalauth

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent"
	"github.com/seed-2a7f8fe7/coder/internal/agent/instanceid"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/gitauth"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// AskpassCommand returns the command for programs that run git's askpass by name. git itself runs this
// program through GIT_ASKPASS, without a command.
func AskpassCommand(a *command.Run) *command.Command {
	return &command.Command{
		Name: "gitaskpass", Args: "<prompt>", Min: 1, Max: 1, Hidden: true,
		Short: "Answer git's prompt for a username or password",
		Run: func(ctx context.Context, args []string) error {
			if code := Login(ctx, args[0], a.Raw, a.RawErr, a.Environ()); code != 0 {
				return command.ExitStatus(code)
			}
			return nil
		},
	}
}

// tokenOptions holds the flags of external-auth access-token.
type tokenOptions struct {
	extra, token, tokenFile, url, auth, name, output string
}

// Command returns the commands for tokens of external providers.
func Command(a *command.Run) *command.Command {
	var o tokenOptions
	return &command.Command{
		Name:  "external-auth",
		Short: "Use external authentication inside a workspace",
		Subs: []*command.Command{{
			Name: "access-token", Args: "<provider>", Min: 1, Max: 1,
			Short: "Print the workspace owner's access token at a provider",
			Long: "Runs inside a workspace. The token is validated before it is printed. If the owner must link the provider " +
				"first, prints the URL of the page for that, and exits with status 1.",
			Examples: []command.Example{
				{Text: "Use the token in a script, or ask the owner to link GitHub",
					Line: `if token=$(coder external-auth access-token github); then use "$token"; else echo "Open $token"; fi`},
				{Text: "Print a field of the token response", Line: "coder external-auth access-token slack --extra authed_user.id"},
			},
			Options: []*option.Option{
				option.String(&o.extra, "extra", "Field of the token response to print instead, such as authed_user.id"),
				option.Choice(&o.output, "output", "Output format", "text", "json").Short("o").Def("text").Hide(),
				option.String(&o.token, "agent-token", "Token of the agent").Env("CODER_AGENT_TOKEN"),
				option.String(&o.tokenFile, "agent-token-file", "File with the token of the agent").Env("CODER_AGENT_TOKEN_FILE"),
				option.String(&o.url, "agent-url", "URL of the server").Env("CODER_AGENT_URL").As("url"),
				option.Choice(&o.auth, "auth", "Authentication method: a token, or the identity of the cloud instance",
					agent.AuthToken, agent.AuthAWS, agent.AuthAzure, agent.AuthGoogle).Env("CODER_AGENT_AUTH").Def(agent.AuthToken).As("string"),
				option.String(&o.name, "agent-name", "Name of the agent, if several run on the cloud instance").Env("CODER_AGENT_NAME"),
			},
			Run: func(ctx context.Context, args []string) error { return accessToken(ctx, a, o, args[0]) },
		}},
	}
}

// environ returns the variables with which package gitauth finds the server.
func (o tokenOptions) environ(ctx context.Context) ([]string, error) {
	token := o.token
	if token == "" && o.tokenFile != "" {
		b, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("read the agent's token: %w", err)
		}
		token = strings.TrimSpace(string(b))
	}
	if token == "" && o.auth != agent.AuthToken {
		u, err := command.ParseServer(o.url)
		if err != nil {
			return nil, err
		}
		if token, err = instanceid.Token(ctx, codersdk.New(u), o.auth, o.name, ""); err != nil {
			return nil, err
		}
	}
	return []string{"CODER_AGENT_URL=" + o.url, "CODER_AGENT_TOKEN=" + token}, nil
}

func accessToken(ctx context.Context, a *command.Run, o tokenOptions, id string) error {
	env, err := o.environ(ctx)
	if err != nil {
		return err
	}
	got, err := gitauth.Token(ctx, env, id)
	switch {
	case err != nil:
		return err
	case got.URL != "" || got.AccessToken == "":
		fmt.Fprintln(a.Stdout, got.URL)
		return command.ExitStatus(1)
	}
	return printToken(a, o, got)
}

func printToken(a *command.Run, o tokenOptions, got codersdk.ExternalAuthResponse) error {
	if o.extra != "" {
		value, ok := gitauth.Extra(got, o.extra)
		if !ok {
			return codersdk.Errorf(codersdk.CodeNotFound,
				"the token response has no field %q; the provider must list its first part in EXTRA_TOKEN_KEYS", o.extra)
		}
		_, err := fmt.Fprintln(a.Stdout, value)
		return err
	}
	if o.output == "json" {
		enc := json.NewEncoder(a.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(got)
	}
	_, err := fmt.Fprintln(a.Stdout, got.AccessToken)
	return err
}
