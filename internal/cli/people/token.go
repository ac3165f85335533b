package people

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// token is an API token and the name of who owns it.
type token struct {
	coder.APIKey
	Owner string `json:"owner"`
}

func tokenColumns() []app.Column[token] {
	return []app.Column[token]{
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
			return app.Date(t.LastUsed)
		}},
		{Name: "expires at", Show: func(t token) string { return app.Date(t.ExpiresAt) }},
		{Name: "created at", Show: func(t token) string { return app.Date(t.CreatedAt) }},
		{Name: "owner", Show: func(t token) string { return t.Owner }},
	}
}

func tokensCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name: "tokens", Aliases: []string{"token"}, Args: "",
		Short: "Manage API tokens, with which programs sign in.",
		Examples: []app.Example{
			{Text: "Make a token that lives for a day", Line: "coder tokens create --lifetime 24h --name ci"},
			{Text: "List yours", Line: "coder tokens list"},
			{Text: "Take one away", Line: "coder tokens remove ci"},
		},
		Subs: []*app.Command{tokensCreateCommand(a), tokensListCommand(a), tokensViewCommand(a), tokensRemoveCommand(a)},
	}
}

// tokenOptions are the flags of tokens create.
type tokenOptions struct {
	lifetime, name, user string
	scopes, allow        []string
}

func tokensCreateCommand(a *app.Run) *app.Command {
	var o tokenOptions
	allow := option.List(&o.allow, "allow", "Limit the token to one object, as type:id, or to a type, as type:*. May be repeated.")
	allow.Value.Kind = "allow-list"
	return &app.Command{
		Name: "create", Max: 0,
		Short: "Make a token and print it, once.",
		Options: []*option.Option{
			option.String(&o.lifetime, "lifetime", "How long the token lives, such as 24h or 30d. The server says how long by default and at most.").Env("CODER_TOKEN_LIFETIME"),
			option.String(&o.name, "name", "Name of the token; a random one otherwise.").Short("n").Env("CODER_TOKEN_NAME"),
			option.String(&o.user, "user", "User to make the token for, which needs the right to.").Short("u").Env("CODER_TOKEN_USER"),
			option.List(&o.scopes, "scope", "What the token may do, such as workspace:read. May be repeated; everything you may do otherwise."),
			allow,
		},
		Run: func(ctx context.Context, _ []string) error { return tokensCreate(ctx, a, &o) },
	}
}

// tokenRequest is the request with scopes as well.
type tokenRequest struct {
	coder.CreateTokenRequest
	Scopes []string `json:"scopes,omitempty"`
}

func tokensCreate(ctx context.Context, a *app.Run, o *tokenOptions) error {
	req := tokenRequest{Scopes: o.scopes}
	req.TokenName = o.name
	if o.lifetime != "" {
		d, err := option.ParseDuration(o.lifetime)
		if err != nil {
			return app.Failure("--lifetime: %s", err)
		}
		req.Lifetime = d
	}
	for _, s := range o.allow {
		kind, id, ok := strings.Cut(s, ":")
		if !ok || kind == "" || id == "" {
			return app.Failure("--allow: %q must be type:id or type:*", s)
		}
		req.AllowList = append(req.AllowList, coder.APIAllowListTarget{Type: coder.RBACResource(kind), ID: id})
	}
	user := o.user
	if user == "" {
		user = "me"
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	var key coder.GenerateAPIKeyResponse
	if err := app.Call(ctx, c, "POST", "/users/"+url.PathEscape(user)+"/keys/tokens", req, &key); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.Stdout, key.Key)
	return err
}

// owned reads tokens with the names of their owners, as the server tells them.
func tokensListCommand(a *app.Run) *app.Command {
	l := &app.Listing[token]{All: tokenColumns(), NoMatch: "No tokens. Make one with 'coder tokens create'."}
	var all bool
	return &app.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short: "List API tokens.",
		Options: []*option.Option{
			option.Bool(&all, "all", "Those of all users, which needs the right to.").Short("a"),
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
			owners := map[string]string{}
			rows := make([]token, len(keys))
			for i, k := range keys {
				id := k.UserID.String()
				if option.Contains(l.Chosen, "owner") && owners[id] == "" {
					if u, err := c.User(ctx, id); err == nil {
						owners[id] = u.Username
					}
				}
				rows[i] = token{k, owners[id]}
			}
			return l.Write(a, rows)
		},
	}
}

func tokensViewCommand(a *app.Run) *app.Command {
	l := &app.Listing[token]{All: tokenColumns()}
	return &app.Command{
		Name: "view", Args: "<name|id>", Min: 1, Max: 1,
		Short:   "Show one API token; never its secret.",
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

// findToken finds one of the user's tokens by name, by id, or by the token
// itself, of which the part before the hyphen is the id.
func findToken(ctx context.Context, a *app.Run, ref string) (coder.APIKey, error) {
	c, err := a.Client(ctx)
	if err != nil {
		return coder.APIKey{}, err
	}
	key, err := c.Token(ctx, "me", ref)
	if !coder.Is(err, coder.CodeNotFound, coder.CodeInvalid) {
		return key, err
	}
	id, _, _ := strings.Cut(ref, "-")
	key, err = c.APIKey(ctx, "me", id)
	if coder.Is(err, coder.CodeNotFound) {
		return key, coder.Errorf(coder.CodeNotFound, "you have no token of that name or id")
	}
	return key, err
}

func tokensRemoveCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name: "remove", Aliases: []string{"delete", "rm"}, Args: "<name|id|token>", Min: 1, Max: 1,
		Short: "Take an API token away; what uses it is signed out at once.",
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			key, err := findToken(ctx, a, args[0])
			if err != nil {
				return err
			}
			if err := c.DeleteAPIKey(ctx, "me", key.ID); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Removed token %s.\n", key.ID)
			return err
		},
	}
}
