// Package token is the command tokens: API tokens of users, their scopes and their life.
package token

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// token is an API token with the name of its owner.
type token struct {
	codersdk.APIKey
	Owner string `json:"owner"`
}

func tokenColumns() []command.Column[token] {
	return []command.Column[token]{
		{Name: "id", Show: func(t token) string { return t.ID }},
		{Name: "name", Show: func(t token) string { return t.TokenName }},
		{Name: "scopes", Show: func(t token) string {
			var s []string
			for _, scope := range t.Scopes {
				s = append(s, string(scope))
			}
			return strings.Join(s, ",")
		}},
		{Name: "allow list", Show: func(t token) string {
			var s []string
			for _, target := range t.AllowList {
				s = append(s, string(target.Type)+":"+target.ID)
			}
			return strings.Join(s, ",")
		}},
		{Name: "last used", Show: func(t token) string {
			if t.LastUsed.Unix() <= 0 {
				return "never"
			}
			return command.Date(t.LastUsed)
		}},
		{Name: "expires at", Show: func(t token) string { return command.Date(t.ExpiresAt) }},
		{Name: "created at", Show: func(t token) string { return command.Date(t.CreatedAt) }},
		{Name: "owner", Show: func(t token) string { return t.Owner }},
	}
}

// Command returns the command tokens.
func Command(a *command.Run) *command.Command {
	return &command.Command{
		Name: "tokens", Aliases: []string{"token"}, Args: "",
		Short: "Manage API tokens",
		Examples: []command.Example{
			{Text: "Create a token that expires after a day", Line: "coder tokens create --lifetime 24h --name ci"},
			{Text: "List your tokens", Line: "coder tokens list"},
			{Text: "Expire a token", Line: "coder tokens remove ci"},
		},
		Subs: []*command.Command{createcommand(a), listcommand(a), viewcommand(a), removecommand(a)},
	}
}

// tokenOptions holds the flags of tokens create.
type tokenOptions struct {
	lifetime, name, user string
	scopes, allow        []string
}

func createcommand(a *command.Run) *command.Command {
	var o tokenOptions
	allow := option.List(&o.allow, "allow", "Object that the token is limited to, as type:id, or type:* for all of a type (repeatable)")
	allow.Value.Kind = "allow-list"
	return &command.Command{
		Name: "create", Max: 0,
		Short: "Create an API token and print it",
		Options: []*option.Option{
			option.String(&o.lifetime, "lifetime", "Lifetime, such as 24h or 30d. The server sets the default and the maximum").Env("CODER_TOKEN_LIFETIME"),
			option.String(&o.name, "name", "Name of the token (default: random)").Short("n").Env("CODER_TOKEN_NAME"),
			option.String(&o.user, "user", "User to create the token for (requires permission)").Short("u").Env("CODER_TOKEN_USER"),
			option.List(&o.scopes, "scope", "Scope of the token, such as workspace:read (default: all; repeatable)"),
			allow,
		},
		Run: func(ctx context.Context, _ []string) error { return create(ctx, a, &o) },
	}
}

// tokenRequest adds scopes to the create request.
type tokenRequest struct {
	codersdk.CreateTokenRequest
	Scopes []string `json:"scopes,omitempty"`
}

func create(ctx context.Context, a *command.Run, o *tokenOptions) error {
	req := tokenRequest{Scopes: o.scopes}
	req.TokenName = o.name
	if o.lifetime != "" {
		d, err := option.ParseDuration(o.lifetime)
		if err != nil {
			return command.Failure("--lifetime: %s", err)
		}
		req.Lifetime = d
	}
	for _, s := range o.allow {
		kind, id, ok := strings.Cut(s, ":")
		if !ok || kind == "" || id == "" {
			return command.Failure("--allow: %q must be type:id or type:*", s)
		}
		req.AllowList = append(req.AllowList, codersdk.APIAllowListTarget{Type: codersdk.RBACResource(kind), ID: id})
	}
	user := o.user
	if user == "" {
		user = "me"
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	var key codersdk.GenerateAPIKeyResponse
	if err := command.Call(ctx, c, "POST", "/users/"+url.PathEscape(user)+"/keys/tokens", req, &key); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.Stdout, key.Key)
	return err
}

// listcommand returns tokens list. The server adds the owners' names to
// the tokens.
func listcommand(a *command.Run) *command.Command {
	l := &command.Listing[token]{All: tokenColumns(), NoMatch: "No tokens found. Create one with 'coder tokens create'."}
	var all bool
	return &command.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short: "List API tokens",
		Options: []*option.Option{
			option.Bool(&all, "all", "List the tokens of all users (requires permission)").Short("a"),
			l.ColumnOption("id,name,scopes,allow list,last used,expires at,created at"), l.FormatOption(),
		},
		Run: func(ctx context.Context, _ []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			q := url.Values{}
			if all {
				q.Set("include_all", "true")
			}
			keys, err := c.Tokens(ctx, "me", q)
			if err != nil {
				return err
			}
			rows := make([]token, len(keys))
			for i, k := range keys {
				rows[i] = token{k.APIKey, k.Username}
			}
			return l.Write(a, rows)
		},
	}
}

func viewcommand(a *command.Run) *command.Command {
	l := &command.Listing[token]{All: tokenColumns()}
	return &command.Command{
		Name: "view", Args: "<name|id>", Min: 1, Max: 1,
		Short:   "Show an API token, without its secret",
		Options: []*option.Option{l.ColumnOption("id,name,scopes,allow list,last used,expires at,created at,owner"), l.FormatOption()},
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			key, err := findToken(ctx, a, args[0])
			if err != nil {
				return err
			}
			owner, err := c.User(ctx, key.UserID.String())
			if err != nil {
				return err
			}
			return l.Write(a, []token{{key, owner.Username}})
		},
	}
}

// findToken finds one of the user's tokens by name, by ID, or by the token
// itself, whose part before the hyphen is the ID.
func findToken(ctx context.Context, a *command.Run, ref string) (codersdk.APIKey, error) {
	c, err := a.Client(ctx)
	if err != nil {
		return codersdk.APIKey{}, err
	}
	key, err := c.Token(ctx, "me", ref)
	if !codersdk.Is(err, codersdk.CodeNotFound, codersdk.CodeInvalid) {
		return key, err
	}
	id, _, _ := strings.Cut(ref, "-")
	key, err = c.APIKey(ctx, "me", id)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return key, codersdk.Errorf(codersdk.CodeNotFound, "token not found: no token of yours has that name or ID")
	}
	return key, err
}

// removecommand returns tokens remove. The row of an expired token shows who used it
// last, and from where.
func removecommand(a *command.Run) *command.Command {
	var row bool
	return &command.Command{
		Name: "remove", Aliases: []string{"delete", "rm"}, Args: "<name|id|token>", Min: 1, Max: 1,
		Short: "Expire an API token",
		Long: "An expired token is refused, and 'tokens list' leaves it out. The server deletes it when the time of " +
			"CODER_API_KEYS_RETENTION has passed. A new token can have its name.",
		Options: []*option.Option{option.Bool(&row, "delete", "Delete the token at once, with its record of last use")},
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			key, err := findToken(ctx, a, args[0])
			if err != nil {
				return err
			}
			end, done := c.ExpireAPIKey, "Expired"
			if row {
				end, done = c.DeleteAPIKey, "Deleted"
			}
			if err := end(ctx, "me", key.ID); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "%s token %s.\n", done, key.ID)
			return err
		},
	}
}
