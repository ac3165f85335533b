package tunnel

import (
	"context"
	"testing"

	"github.com/google/uuid"
)

// TestStopWithoutStart: Stop also serves callers whose Start failed.
func TestStopWithoutStart(t *testing.T) {
	identity, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen(ListenConfig{Identity: identity, AgentID: uuid.New(), Relay: AgentRelay(nil), Handle: func(context.Context, *Request) {}})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
