package agent

import (
	"context"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent/instanceid"
)

// Values of CODER_AGENT_AUTH.
const (
	AuthToken  = "token"
	AuthAWS    = instanceid.AWS
	AuthAzure  = instanceid.Azure
	AuthGoogle = instanceid.Google
)

// authenticate exchanges the identity of this cloud instance for the agent's token,
// when the agent has no other. It does nothing if it already has a token,
// unless the server refused that token because a newer build created another
// agent.
func (a *Agent) authenticate(ctx context.Context) error {
	if a.c.Auth == AuthToken || a.server().SessionToken != "" && !a.refused {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	c := codersdk.New(a.c.URL)
	c.HTTP = a.c.HTTP
	token, err := instanceid.Token(ctx, c, a.c.Auth, a.c.Name, a.c.MetadataURL)
	if err != nil {
		return err
	}
	c.SessionToken = token
	a.client.Store(c)
	a.refused = false
	return nil
}
