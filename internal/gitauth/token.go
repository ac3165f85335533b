package gitauth

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Token requests the owner's token at a provider from the server, which validates it. If the owner must
// link the provider first, page is the address for that, and the token is empty.
func Token(ctx context.Context, env []string, id string) (got codersdk.ExternalAuthResponse, err error) {
	c, err := Client(env)
	if err != nil {
		return got, err
	}
	return c.AgentExternalAuth(ctx, codersdk.AgentExternalAuthRequest{ID: id})
}

// Extra returns the field of a token response at a path such as "authed_user.id": texts as they are, other
// values as JSON. ok is false if the field is missing.
func Extra(got codersdk.ExternalAuthResponse, path string) (value string, ok bool) {
	var at any = map[string]any(got.TokenExtra)
	for name := range strings.SplitSeq(path, ".") {
		fields, is := at.(map[string]any)
		if !is {
			return "", false
		}
		if at, is = fields[name]; !is || at == nil {
			return "", false
		}
	}
	if text, is := at.(string); is {
		return text, true
	}
	b, err := json.Marshal(at)
	return string(b), err == nil
}
