// Package people is the family of commands about those who use the server:
// signing in and out, who one is, users, their roles and tokens, organizations
// and their members, the public key for git.
//
// Signing in leaves two small files in the configuration directory, url and
// session, readable by their owner alone; every other command reads them.
package people

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// Commands are the commands of this family.
func Commands(a *app.Run) []*app.Command {
	return []*app.Command{
		loginCommand(a), logoutCommand(a), whoamiCommand(a),
		usersCommand(a), tokensCommand(a), organizationsCommand(a), groupsCommand(a), sharingCommand(a), featuresCommand(a), publickeyCommand(a),
	}
}

// loginOptions are the flags of login.
type loginOptions struct {
	first      coder.CreateFirstUserRequest
	useSession bool
}

func loginCommand(a *app.Run) *app.Command {
	var o loginOptions
	return &app.Command{
		Name: "login", Args: "[<url>]", Max: 1,
		Short: "Sign in to a server.",
		Long: "Stores the URL and a session in the configuration directory. On a server without any user " +
			"the first one, who may do everything, is made. The session comes from --token or " +
			"$CODER_SESSION_TOKEN when given, from standard input when that is no terminal, else it is asked " +
			"for: an e-mail address and password, or a token.",
		Examples: []app.Example{
			{Text: "Sign in", Line: "coder login https://coder.example.com"},
			{Text: "Make the first user without being asked", Line: "coder login http://127.0.0.1:3000 --first-user-username admin --first-user-email admin@example.com --first-user-password 'Long-and-secret-1'"},
		},
		Options: []*option.Option{
			option.String(&o.first.Email, "first-user-email", "E-mail address of the first user.").Env("CODER_FIRST_USER_EMAIL"),
			option.String(&o.first.Username, "first-user-username", "Name of the first user.").Env("CODER_FIRST_USER_USERNAME"),
			option.String(&o.first.Name, "first-user-full-name", "Full name of the first user.").Env("CODER_FIRST_USER_FULL_NAME"),
			option.String(&o.first.Password, "first-user-password", "Password of the first user.").Env("CODER_FIRST_USER_PASSWORD"),
			option.Bool(&o.first.Trial, "first-user-trial", "Accepted and without effect: everything is free.").Env("CODER_FIRST_USER_TRIAL"),
			option.Bool(&o.useSession, "use-token-as-session", "Store the given token itself instead of a session made with it."),
		},
		Run: func(ctx context.Context, args []string) error { return login(ctx, a, args, &o) },
		Subs: []*app.Command{{
			Name: "token", Max: 0,
			Short: "Print the stored session token, for scripts.",
			Run:   func(context.Context, []string) error { return loginToken(a) },
		}},
	}
}

func login(ctx context.Context, a *app.Run, args []string, o *loginOptions) error {
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
		if o.first.Email != "" && o.first.Password != "" { // it may be us who made the first user
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

func loginURL(a *app.Run, args []string) (*url.URL, error) {
	switch {
	case len(args) == 1:
		return app.ParseServer(args[0])
	case a.URL != nil:
		return a.URL, nil
	}
	s, err := a.Stored("url")
	if err != nil {
		return nil, err
	}
	if s == "" {
		return nil, app.Failure("say which server: coder login <url>")
	}
	fmt.Fprintf(a.Stderr, "Signing in to %s\n", s)
	return app.ParseServer(s)
}

// loginWith checks a token and stores it with the server's URL.
func loginWith(ctx context.Context, a *app.Run, c *client.Client, token string) error {
	c.SessionToken = token
	me, err := c.User(ctx, "me")
	if err != nil {
		return err
	}
	if err := a.Store("session", token); err != nil {
		return err
	}
	if err := a.Store("url", c.URL.String()); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "Signed in to %s as %s.\n", c.URL, a.Painter(a.Stdout).Bold(me.Username))
	return nil
}

// loginCredentials asks who is there: by e-mail and password, or by a token
// when the e-mail is left empty. Without a terminal a token is read.
func loginCredentials(ctx context.Context, a *app.Run, c *client.Client) (string, error) {
	if !a.Interactive() {
		b, err := io.ReadAll(io.LimitReader(a.Lines, 4096))
		if err != nil {
			return "", err
		}
		if token := strings.TrimSpace(string(b)); token != "" {
			return token, nil
		}
		return "", app.NoTerminal("E-mail address and password", "use --token or write a token to standard input")
	}
	methods, err := c.AuthMethods(ctx)
	if err != nil {
		return "", err
	}
	if ways := otherWays(methods); ways != "" {
		fmt.Fprintf(a.Stderr, "If you sign in by %s, open %s and give the token that it shows.\n", ways, tokenPage(c.URL))
	}
	email, err := a.Ask("E-mail address, or empty to give a token:", "", "use --token", nil)
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

// tokenPage is where the dashboard shows a token for the command line.
func tokenPage(u *url.URL) string { return u.JoinPath("/cli-auth").String() }

// otherWays names the ways to sign in without a password, "" for none.
func otherWays(m coder.AuthMethods) string {
	var names []string
	if m.OIDC.Enabled {
		names = append(names, cmp.Or(m.OIDC.SignInText, "OpenID Connect"))
	}
	if m.GitHub.Enabled {
		names = append(names, "GitHub")
	}
	return strings.Join(names, " or ")
}

func passwordLogin(ctx context.Context, c *client.Client, email, password string) (string, error) {
	answer, err := c.LoginWithPassword(ctx, coder.LoginWithPasswordRequest{Email: email, Password: password})
	return answer.SessionToken, err
}

// loginFirstUser makes the first user and signs in as them.
func loginFirstUser(ctx context.Context, a *app.Run, c *client.Client, req coder.CreateFirstUserRequest) error {
	const instead = "use --first-user-username, --first-user-email and --first-user-password"
	var err error
	if req.Username == "" || req.Email == "" || req.Password == "" {
		if a.Interactive() {
			fmt.Fprintf(a.Stderr, "This server has no user yet. You make the first one, who may do everything.\n")
		}
	}
	if req.Username == "" {
		if req.Username, err = a.Ask("Name of the first user:", "admin", instead, func(s string) error { return coder.CheckName("username", s) }); err != nil {
			return err
		}
	}
	if req.Email == "" {
		if req.Email, err = a.Ask("E-mail address:", "", instead, func(s string) error { return coder.CheckEmail("email", s) }); err != nil {
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
	fmt.Fprintf(a.Stdout, "Made the first user %s.\n", req.Username)
	token, err := passwordLogin(ctx, c, req.Email, req.Password)
	if err != nil {
		return err
	}
	return loginWith(ctx, a, c, token)
}

func loginToken(a *app.Run) error {
	token := a.Token
	if token == "" {
		var err error
		if token, err = a.Stored("session"); err != nil {
			return err
		}
	}
	if token == "" {
		return coder.Errorf(coder.CodeUnauthenticated, "you are not logged in; run 'coder login <url>'")
	}
	_, err := fmt.Fprintln(a.Stdout, token)
	return err
}

func logoutCommand(a *app.Run) *app.Command {
	var sure bool
	return &app.Command{
		Name: "logout", Max: 0,
		Short:   "End the stored session and forget it.",
		Options: []*option.Option{app.Yes(&sure)},
		Run: func(ctx context.Context, _ []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			if err := a.Confirm("Sign out of "+c.URL.String()+"?", sure); err != nil {
				return err
			}
			if err := c.Logout(ctx); err != nil && !coder.Is(err, coder.CodeUnauthenticated) {
				fmt.Fprintf(a.Stderr, "The server could not end the session, it is only forgotten here: %v\n", err)
			}
			if err := a.Forget("session"); err != nil {
				return err
			}
			if err := a.Forget("url"); err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Stdout, "Signed out.")
			return err
		},
	}
}
