// Package user is the command group for accounts: signing in and out, users
// with their roles, organizations with their members, and the public
// key for git.
//
// Signing in stores two files in the configuration directory, url and session,
// both with mode 0600. All other commands read them.
package user

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Commands returns the commands of this package.
func Commands(a *command.Run) []*command.Command {
	return []*command.Command{
		loginCommand(a), logoutCommand(a), whoamiCommand(a),
		usersCommand(a), organizationsCommand(a), groupsCommand(a), sharingCommand(a), publickeyCommand(a),
		notificationsCommand(a), secretCommand(a),
	}
}

// loginOptions holds the flags of login.
type loginOptions struct {
	first      codersdk.CreateFirstUserRequest
	useSession bool
}

func loginCommand(a *command.Run) *command.Command {
	var o loginOptions
	return &command.Command{
		Name: "login", Args: "[<url>]", Max: 1,
		Short: "Sign in to a server",
		Long: "Stores the URL and a session in the configuration directory. On a server without users, creates the " +
			"first user, who is an owner. The session comes from --token or $CODER_SESSION_TOKEN, from standard " +
			"input when that is not a terminal, or from a prompt for an email address and password or a token.",
		Examples: []command.Example{
			{Text: "Sign in", Line: "coder login https://coder.example.com"},
			{
				Text: "Create the first user without prompts",
				Line: "coder login http://127.0.0.1:3000 --first-user-username admin --first-user-email admin@example.com --first-user-password 'Long-and-secret-1'",
			},
		},
		Options: []*option.Option{
			option.String(&o.first.Email, "first-user-email", "Email address of the first user").Env("CODER_FIRST_USER_EMAIL"),
			option.String(&o.first.Username, "first-user-username", "Username of the first user").Env("CODER_FIRST_USER_USERNAME"),
			option.String(&o.first.Name, "first-user-full-name", "Full name of the first user").Env("CODER_FIRST_USER_FULL_NAME"),
			option.String(&o.first.Password, "first-user-password", "Password of the first user").Env("CODER_FIRST_USER_PASSWORD"),
			option.Bool(&o.first.Trial, "first-user-trial", "Ignored, for compatibility").Env("CODER_FIRST_USER_TRIAL"),
			option.Bool(&o.useSession, "use-token-as-session", "Store the given token itself instead of creating a session with it"),
		},
		Run: func(ctx context.Context, args []string) error { return login(ctx, a, args, &o) },
		Subs: []*command.Command{{
			Name: "token", Max: 0,
			Short: "Print the stored session token",
			Run:   func(context.Context, []string) error { return loginToken(a) },
		}},
	}
}

func login(ctx context.Context, a *command.Run, args []string, o *loginOptions) error {
	u, err := loginURL(a, args)
	if err != nil {
		return err
	}
	c, err := a.Anonymous(ctx, u)
	if err != nil {
		return err
	}
	exists, err := c.FirstUserExists(ctx)
	if err != nil {
		return fmt.Errorf("check %s: %w", u, err)
	}
	if !exists {
		return loginFirstUser(ctx, a, c, o.first)
	}
	if a.Token == "" {
		if o.first.Email != "" && o.first.Password != "" { // a concurrent first user may have these credentials
			a.Token, err = passwordLogin(ctx, c, o.first.Email, o.first.Password)
		} else {
			a.Token, err = loginCredentials(ctx, a, c)
		}
		if err != nil {
			return err
		}
		return loginWith(ctx, a, c, a.Token)
	}
	c.SessionToken = a.Token
	if !o.useSession {
		key, err := c.CreateSessionKey(ctx, "me")
		if err != nil {
			return err
		}
		a.Token = key.Key
	}
	return loginWith(ctx, a, c, a.Token)
}

func loginURL(a *command.Run, args []string) (*url.URL, error) {
	switch {
	case len(args) == 1:
		return command.ParseServer(args[0])
	case a.URL != nil:
		return a.URL, nil
	}
	u, err := a.StoredServer()
	if err != nil {
		return nil, err
	}
	if u == nil {
		return nil, command.Failure("no server given; use 'coder login <url>'")
	}
	fmt.Fprintf(a.Stderr, "Signing in to %s\n", u)
	return u, nil
}

// loginWith verifies a token and stores it with the server's URL.
func loginWith(ctx context.Context, a *command.Run, c *codersdk.Client, token string) error {
	c.SessionToken = token
	me, err := c.User(ctx, "me")
	if err != nil {
		return err
	}
	if err := a.StoreSession(c.URL, token); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "Signed in to %s as %s.\n", c.URL, a.Painter(a.Stdout).Bold(me.Username))
	return nil
}

// loginCredentials prompts for an email address and password, or for a token
// when the email address is empty. Without a terminal it reads a token from
// standard input.
func loginCredentials(ctx context.Context, a *command.Run, c *codersdk.Client) (string, error) {
	if !a.Interactive() {
		b, err := io.ReadAll(io.LimitReader(a.Lines, 4096))
		if err != nil {
			return "", err
		}
		if token := strings.TrimSpace(string(b)); token != "" {
			return token, nil
		}
		return "", command.NoTerminal("email address and password", "use --token or write a token to standard input")
	}
	methods, err := c.AuthMethods(ctx)
	if err != nil {
		return "", err
	}
	if ways := otherWays(methods); ways != "" {
		fmt.Fprintf(a.Stderr, "To sign in with %s, open %s and paste the token from that page.\n", ways, tokenPage(c.URL))
	}
	email, err := a.Ask("Email address (leave empty to use a token):", "", "use --token", nil)
	if err != nil {
		return "", err
	}
	if email == "" {
		return a.AskSecret("Token:", "use --token")
	}
	password, err := a.AskSecret("Password:", "use --token")
	if err != nil {
		return "", err
	}
	return passwordLogin(ctx, c, email, password)
}

// tokenPage returns the dashboard page that shows a token for the command line.
func tokenPage(u *url.URL) string { return u.JoinPath("/cli-auth").String() }

// otherWays lists the sign-in methods without a password, or returns "".
func otherWays(m codersdk.AuthMethods) string {
	var names []string
	if m.OIDC.Enabled {
		names = append(names, cmp.Or(m.OIDC.SignInText, "OpenID Connect"))
	}
	if m.GitHub.Enabled {
		names = append(names, "GitHub")
	}
	return strings.Join(names, " or ")
}

func passwordLogin(ctx context.Context, c *codersdk.Client, email, password string) (string, error) {
	answer, err := c.LoginWithPassword(ctx, codersdk.LoginWithPasswordRequest{Email: email, Password: password})
	return answer.SessionToken, err
}

// loginFirstUser creates the first user and signs in as that user.
func loginFirstUser(ctx context.Context, a *command.Run, c *codersdk.Client, req codersdk.CreateFirstUserRequest) error {
	const instead = "use --first-user-username, --first-user-email and --first-user-password"
	var err error
	if req.Username == "" || req.Email == "" || req.Password == "" {
		if a.Interactive() {
			fmt.Fprintf(a.Stderr, "This server has no users yet. The first user is an owner of the deployment.\n")
		}
	}
	if req.Username == "" {
		if req.Username, err = a.Ask("Username of the first user:", "admin", instead, func(s string) error { return codersdk.CheckName("username", s) }); err != nil {
			return err
		}
	}
	if req.Email == "" {
		if req.Email, err = a.Ask("Email address:", "", instead, func(s string) error { return codersdk.CheckEmail("email", s) }); err != nil {
			return err
		}
	}
	if req.Password == "" {
		if req.Password, err = a.NewPassword(instead); err != nil {
			return err
		}
	}
	if _, err := c.CreateFirstUser(ctx, req); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "Created first user %s.\n", req.Username)
	token, err := passwordLogin(ctx, c, req.Email, req.Password)
	if err != nil {
		return err
	}
	return loginWith(ctx, a, c, token)
}

// loginToken prints the stored session for --url, or for the stored server.
func loginToken(a *command.Run) error {
	token := a.Token
	if token == "" {
		u, err := a.Server()
		if err != nil {
			return err
		}
		if token, err = a.SessionOf(u); err != nil {
			return err
		}
		if token == "" {
			return command.NotLoggedIn(u)
		}
	}
	_, err := fmt.Fprintln(a.Stdout, token)
	return err
}

func logoutCommand(a *command.Run) *command.Command {
	var sure bool
	return &command.Command{
		Name: "logout", Max: 0,
		Short:   "Sign out and delete the stored session",
		Options: []*option.Option{command.Yes(&sure)},
		Run:     func(ctx context.Context, _ []string) error { return logout(ctx, a, sure) },
	}
}

// logout ends the session for --url, or for the stored server. A missing
// session is not an error: editors sign out of servers that another program has
// already signed out of.
func logout(ctx context.Context, a *command.Run, sure bool) error {
	u, err := a.Server()
	if err != nil {
		return err
	}
	if a.Token == "" {
		if a.Token, err = a.SessionOf(u); err != nil {
			return err
		}
	}
	if a.Token == "" {
		_, err := fmt.Fprintf(a.Stdout, "You are not logged in to %s.\n", u)
		return err
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	if err := a.Confirm("Sign out of "+c.URL.String()+"?", sure); err != nil {
		return err
	}
	if err := c.Logout(ctx); err != nil && !codersdk.Is(err, codersdk.CodeUnauthenticated) {
		fmt.Fprintf(a.Stderr, "Could not end the session on the server, only the stored session is deleted: %v\n", err)
	}
	if err := a.ForgetSession(c.URL); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.Stdout, "Signed out.")
	return err
}
