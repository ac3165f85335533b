package cli

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// token is an API token and the name of who owns it.
type token struct {
	coder.APIKey
	Owner string `json:"owner"`
}

func tokenColumns() []column[token] {
	return []column[token]{
		{"id", func(t token) string { return t.ID }},
		{"name", func(t token) string { return t.TokenName }},
		{"scopes", func(t token) string {
			var s []string
			for _, scope := range t.Scopes {
				s = append(s, string(scope))
			}
			return strings.Join(s, ",")
		}},
		{"allow list", func(t token) string {
			var s []string
			for _, target := range t.AllowList {
				s = append(s, string(target.Type)+":"+target.ID)
			}
			return strings.Join(s, ",")
		}},
		{"last used", func(t token) string {
			if t.LastUsed.Unix() <= 0 {
				return "never"
			}
			return date(t.LastUsed)
		}},
		{"expires at", func(t token) string { return date(t.ExpiresAt) }},
		{"created at", func(t token) string { return date(t.CreatedAt) }},
		{"owner", func(t token) string { return t.Owner }},
	}
}

func (a *app) tokensCommand() *command {
	return &command{
		name: "tokens", aliases: []string{"token"}, args: "",
		short: "Manage API tokens, with which programs sign in.",
		examples: []example{
			{"Make a token that lives for a day", "coder tokens create --lifetime 24h --name ci"},
			{"List yours", "coder tokens list"},
			{"Take one away", "coder tokens remove ci"},
		},
		subs: []*command{a.tokensCreateCommand(), a.tokensListCommand(), a.tokensViewCommand(), a.tokensRemoveCommand()},
	}
}

// tokenOptions are the flags of tokens create.
type tokenOptions struct {
	lifetime, name, user string
	scopes, allow        []string
}

func (a *app) tokensCreateCommand() *command {
	var o tokenOptions
	allow := option.List(&o.allow, "allow", "Limit the token to one object, as type:id, or to a type, as type:*. May be repeated.")
	allow.Value.Kind = "allow-list"
	return &command{
		name: "create", max: 0,
		short: "Make a token and print it, once.",
		options: []*option.Option{
			option.String(&o.lifetime, "lifetime", "How long the token lives, such as 24h or 30d. The server says how long by default and at most.").Env("CODER_TOKEN_LIFETIME"),
			option.String(&o.name, "name", "Name of the token; a random one otherwise.").Short("n").Env("CODER_TOKEN_NAME"),
			option.String(&o.user, "user", "User to make the token for, which needs the right to.").Short("u").Env("CODER_TOKEN_USER"),
			option.List(&o.scopes, "scope", "What the token may do, such as workspace:read. May be repeated; everything you may do otherwise."),
			allow,
		},
		run: func(ctx context.Context, _ []string) error { return a.tokensCreate(ctx, &o) },
	}
}

// tokenRequest is the request with scopes as well.
type tokenRequest struct {
	coder.CreateTokenRequest
	Scopes []string `json:"scopes,omitempty"`
}

func (a *app) tokensCreate(ctx context.Context, o *tokenOptions) error {
	req := tokenRequest{Scopes: o.scopes}
	req.TokenName = o.name
	if o.lifetime != "" {
		d, err := option.ParseDuration(o.lifetime)
		if err != nil {
			return failure("--lifetime: %s", err)
		}
		req.Lifetime = d
	}
	for _, s := range o.allow {
		kind, id, ok := strings.Cut(s, ":")
		if !ok || kind == "" || id == "" {
			return failure("--allow: %q must be type:id or type:*", s)
		}
		req.AllowList = append(req.AllowList, coder.APIAllowListTarget{Type: coder.RBACResource(kind), ID: id})
	}
	user := o.user
	if user == "" {
		user = "me"
	}
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	var key coder.GenerateAPIKeyResponse
	if err := call(ctx, c, "POST", "/users/"+url.PathEscape(user)+"/keys/tokens", req, &key); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, key.Key)
	return err
}

// owned reads tokens with the names of their owners, as the server tells them.
func (a *app) tokensListCommand() *command {
	l := &listing[token]{all: tokenColumns(), noMatch: "No tokens. Make one with 'coder tokens create'."}
	var all bool
	return &command{
		name: "list", aliases: []string{"ls"}, max: 0,
		short: "List API tokens.",
		options: []*option.Option{
			option.Bool(&all, "all", "Those of all users, which needs the right to.").Short("a"),
			l.columnOption("id,name,scopes,allow list,last used,expires at,created at"), l.formatOption(),
		},
		run: func(ctx context.Context, _ []string) error {
			c, err := a.client(ctx)
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
				if option.Contains(l.chosen, "owner") && owners[id] == "" {
					if u, err := c.User(ctx, id); err == nil {
						owners[id] = u.Username
					}
				}
				rows[i] = token{k, owners[id]}
			}
			return l.write(a, rows)
		},
	}
}

func (a *app) tokensViewCommand() *command {
	l := &listing[token]{all: tokenColumns()}
	return &command{
		name: "view", args: "<name|id>", min: 1, max: 1,
		short:   "Show one API token; never its secret.",
		options: []*option.Option{l.columnOption("id,name,scopes,allow list,last used,expires at,created at,owner"), l.formatOption()},
		run: func(ctx context.Context, args []string) error {
			c, err := a.client(ctx)
			if err != nil {
				return err
			}
			key, err := a.findToken(ctx, args[0])
			if err != nil {
				return err
			}
			owner, err := c.User(ctx, key.UserID.String())
			if err != nil {
				return err
			}
			return l.write(a, []token{{key, owner.Username}})
		},
	}
}

// findToken finds one of the user's tokens by name, by id, or by the token
// itself, of which the part before the hyphen is the id.
func (a *app) findToken(ctx context.Context, ref string) (coder.APIKey, error) {
	c, err := a.client(ctx)
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

func (a *app) tokensRemoveCommand() *command {
	return &command{
		name: "remove", aliases: []string{"delete", "rm"}, args: "<name|id|token>", min: 1, max: 1,
		short: "Take an API token away; what uses it is signed out at once.",
		run: func(ctx context.Context, args []string) error {
			c, err := a.client(ctx)
			if err != nil {
				return err
			}
			key, err := a.findToken(ctx, args[0])
			if err != nil {
				return err
			}
			if err := c.DeleteAPIKey(ctx, "me", key.ID); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "Removed token %s.\n", key.ID)
			return err
		},
	}
}
