package agent

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// failing is a server that fails at so many calls, as without its database.
type failing struct {
	agentrpc.DRPCAgentClient
	times int
	err   error
	calls int
}

func (f *failing) ListSubAgents(context.Context, *agentrpc.Empty) (*agentrpc.SubAgents, error) {
	f.calls++
	if f.calls <= f.times {
		return nil, f.err
	}
	return &agentrpc.SubAgents{}, nil
}

// TestSubAgentCalls repeats calls that the server fails at, on the same
// connection, and takes a refusal as the answer.
func TestSubAgentCalls(t *testing.T) {
	a := &Agent{}
	a.c.Backoff = time.Millisecond
	for _, c := range []struct {
		server *failing
		calls  int
		fails  bool
	}{
		{&failing{times: 4, err: errors.New("the database is away")}, 5, false},
		{&failing{times: 4, err: agentrpc.WithCode(codersdk.Errorf(codersdk.CodeUnavailable, "The database is away"))}, 5, false},
		{&failing{times: 4, err: agentrpc.WithCode(codersdk.Errorf(codersdk.CodeForbidden, "You may not"))}, 1, true},
	} {
		var client agentrpc.DRPCAgentClient = c.server
		a.control.Store(&client)
		if _, err := (subAgents{a}).List(t.Context()); (err != nil) != c.fails || c.server.calls != c.calls {
			t.Errorf("%v: %d calls, %v", c.server.err, c.server.calls, err)
		}
	}
}
