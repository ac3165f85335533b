package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// loginOptions are the flags of login.
type loginOptions struct {
	first      coder.CreateFirstUserRequest
	useSession bool
}

func (a *app) loginCommand() *command {
	var o loginOptions
	return &command{
		name: "login", args: "[<url>]", max: 1,
		short: "Sign in to a server.",
		long: "Stores the URL and a session in the configuration directory. On a server without any user " +
			"the first one, who may do everything, is made. The session comes from --token or " +
			"$CODER_SESSION_TOKEN when given, from standard input when that is no terminal, else it is asked " +
			"for: an e-mail address and password, or a token.",
		examples: []example{
			{"Sign in", "coder login https://coder.example.com"},
			{"Make the first user without being asked", "coder login http://127.0.0.1:3000 --first-user-username admin --first-user-email admin@example.com --first-user-password 'Long-and-secret-1'"},
		},
		options: []*option.Option{
			option.String(&o.first.Email, "first-user-email", "E-mail address of the first user.").Env("CODER_FIRST_USER_EMAIL"),
			option.String(&o.first.Username, "first-user-username", "Name of the first user.").Env("CODER_FIRST_USER_USERNAME"),
			option.String(&o.first.Name, "first-user-full-name", "Full name of the first user.").Env("CODER_FIRST_USER_FULL_NAME"),
			option.String(&o.first.Password, "first-user-password", "Password of the first user.").Env("CODER_FIRST_USER_PASSWORD"),
			option.Bool(&o.first.Trial, "first-user-trial", "Accepted and without effect: everything is free.").Env("CODER_FIRST_USER_TRIAL"),
			option.Bool(&o.useSession, "use-token-as-session", "Store the given token itself instead of a session made with it."),
		},
		run: func(ctx context.Context, args []string) error { return a.login(ctx, args, &o) },
		subs: []*command{{
			name: "token", max: 0,
			short: "Print the stored session token, for scripts.",
			run:   func(context.Context, []string) error { return a.loginToken() },
		}},
	}
}

func (a *app) login(ctx context.Context, args []string, o *loginOptions) error {
	u, err := a.loginURL(args)
	if err != nil {
		return err
	}
	c, err := a.anonymous(ctx, u)
	if err != nil {
		return err
	}
	exists, err := c.FirstUserExists(ctx)
	if err != nil {
		return fmt.Errorf("check %s: %w", u, err)
	}
	if !exists {
		return a.loginFirstUser(ctx, c, o.first)
	}
	if a.token == "" {
		if o.first.Email != "" && o.first.Password != "" { // it may be us who made the first user
			a.token, err = passwordLogin(ctx, c, o.first.Email, o.first.Password)
		} else {
			a.token, err = a.loginCredentials(ctx, c)
		}
		if err != nil {
			return err
		}
		return a.loginWith(ctx, c, a.token)
	}
	c.SessionToken = a.token
	if !o.useSession {
		key, err := c.CreateSessionKey(ctx, "me")
		if err != nil {
			return err
		}
		a.token = key.Key
	}
	return a.loginWith(ctx, c, a.token)
}

func (a *app) loginURL(args []string) (*url.URL, error) {
	switch {
	case len(args) == 1:
		return parseServer(args[0])
	case a.url != nil:
		return a.url, nil
	}
	s, err := a.stored("url")
	if err != nil {
		return nil, err
	}
	if s == "" {
		return nil, failure("say which server: coder login <url>")
	}
	fmt.Fprintf(a.stderr, "Signing in to %s\n", s)
	return parseServer(s)
}

// loginWith checks a token and stores it with the server's URL.
func (a *app) loginWith(ctx context.Context, c *client.Client, token string) error {
	c.SessionToken = token
	me, err := c.User(ctx, "me")
	if err != nil {
		return err
	}
	if err := a.store("session", token); err != nil {
		return err
	}
	if err := a.store("url", c.URL.String()); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "Signed in to %s as %s.\n", c.URL, a.painter(a.stdout).Bold(me.Username))
	return nil
}

// loginCredentials asks who is there: by e-mail and password, or by a token
// when the e-mail is left empty. Without a terminal a token is read.
func (a *app) loginCredentials(ctx context.Context, c *client.Client) (string, error) {
	if !a.interactive() {
		b, err := io.ReadAll(io.LimitReader(a.lines, 4096))
		if err != nil {
			return "", err
		}
		if token := strings.TrimSpace(string(b)); token != "" {
			return token, nil
		}
		return "", errNoTerminal("E-mail address and password", "use --token or write a token to standard input")
	}
	email, err := a.ask("E-mail address, or empty to give a token:", "", "use --token", nil)
	if err != nil {
		return "", err
	}
	if email == "" {
		return a.askSecret("Token:", "use --token")
	}
	password, err := a.askSecret("Password:", "use --token")
	if err != nil {
		return "", err
	}
	return passwordLogin(ctx, c, email, password)
}

func passwordLogin(ctx context.Context, c *client.Client, email, password string) (string, error) {
	answer, err := c.LoginWithPassword(ctx, coder.LoginWithPasswordRequest{Email: email, Password: password})
	return answer.SessionToken, err
}

// loginFirstUser makes the first user and signs in as them.
func (a *app) loginFirstUser(ctx context.Context, c *client.Client, req coder.CreateFirstUserRequest) error {
	const instead = "use --first-user-username, --first-user-email and --first-user-password"
	var err error
	if req.Username == "" || req.Email == "" || req.Password == "" {
		if a.interactive() {
			fmt.Fprintf(a.stderr, "This server has no user yet. You make the first one, who may do everything.\n")
		}
	}
	if req.Username == "" {
		if req.Username, err = a.ask("Name of the first user:", "admin", instead, func(s string) error { return coder.CheckName("username", s) }); err != nil {
			return err
		}
	}
	if req.Email == "" {
		if req.Email, err = a.ask("E-mail address:", "", instead, func(s string) error { return coder.CheckEmail("email", s) }); err != nil {
			return err
		}
	}
	if req.Password == "" {
		if req.Password, err = a.newPassword(instead); err != nil {
			return err
		}
	}
	if _, err := c.CreateFirstUser(ctx, req); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "Made the first user %s.\n", req.Username)
	token, err := passwordLogin(ctx, c, req.Email, req.Password)
	if err != nil {
		return err
	}
	return a.loginWith(ctx, c, token)
}

// newPassword asks for a password twice.
func (a *app) newPassword(instead string) (string, error) {
	for {
		one, err := a.askSecret("New password:", instead)
		if err != nil {
			return "", err
		}
		two, err := a.askSecret("The same again:", instead)
		if err != nil {
			return "", err
		}
		if one == two && one != "" {
			return one, nil
		}
		fmt.Fprintln(a.stderr, "  They differ, or are empty.")
	}
}

func (a *app) loginToken() error {
	token := a.token
	if token == "" {
		var err error
		if token, err = a.stored("session"); err != nil {
			return err
		}
	}
	if token == "" {
		return coder.Errorf(coder.CodeUnauthenticated, "you are not logged in; run 'coder login <url>'")
	}
	_, err := fmt.Fprintln(a.stdout, token)
	return err
}

func (a *app) logoutCommand() *command {
	var sure bool
	return &command{
		name: "logout", max: 0,
		short:   "End the stored session and forget it.",
		options: []*option.Option{yes(&sure)},
		run: func(ctx context.Context, _ []string) error {
			c, err := a.client(ctx)
			if err != nil {
				return err
			}
			if err := a.confirm("Sign out of "+c.URL.String()+"?", sure); err != nil {
				return err
			}
			if err := c.Logout(ctx); err != nil && !coder.Is(err, coder.CodeUnauthenticated) {
				fmt.Fprintf(a.stderr, "The server could not end the session, it is only forgotten here: %v\n", err)
			}
			if err := a.forget("session"); err != nil {
				return err
			}
			if err := a.forget("url"); err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.stdout, "Signed out.")
			return err
		},
	}
}
