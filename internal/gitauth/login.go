package gitauth

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
)

// externalAuth is what the server knows of its owner at a git host.
type externalAuth struct {
	URL         string `json:"url"` // where to sign in first
	Username    string `json:"username"`
	Password    string `json:"password"`
	AccessToken string `json:"access_token"`
}

// Login answers a question that git asks for a remote with HTTPS, which is
// either of
//
//	Username for 'https://host/path':
//	Password for 'https://user@host/path':
//
// with what the server knows; "" when it knows nothing of the host. When the
// owner is to sign in there first, tell is called with the page, and the answer
// comes once that is done or ctx ends.
func Login(ctx context.Context, env []string, question string, tell func(page string)) (string, error) {
	kind, rest, _ := strings.Cut(question, " for '")
	raw, _, ok := strings.Cut(rest, "'")
	remote, err := url.Parse(raw)
	if !ok || err != nil || remote.Host == "" || (kind != "Username" && kind != "Password") {
		return "", fmt.Errorf("git asked something that is not understood: %q", question)
	}
	remote.User = nil
	c, err := self(env)
	if err != nil {
		return "", err
	}
	q := url.Values{"match": {remote.String()}}
	var a externalAuth
	err = get(ctx, c, "/workspaceagents/me/external-auth", q, &a)
	if err == nil && a.URL != "" {
		tell(a.URL)
		q.Set("listen", "true")
		a = externalAuth{}
		err = get(ctx, c, "/workspaceagents/me/external-auth", q, &a)
	}
	if coder.Is(err, coder.CodeNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("ask for the login at %s: %w", remote.Host, err)
	}
	if kind == "Username" {
		return cmp.Or(a.Username, "x-access-token"), nil
	}
	return cmp.Or(a.Password, a.AccessToken), nil
}
