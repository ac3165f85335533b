package agentapi_test

import (
	"context"
	"net"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"storj.io/drpc/drpcwire"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agentapi"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// freezer passes connections on to an address; frozen, it holds them and passes
// nothing, as a machine does that lost its power.
func freezer(t *testing.T, to string) (addr string, freeze func()) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	frozen := make(chan struct{})
	pass := func(to, from net.Conn) {
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			select {
			case <-frozen:
				return
			default:
			}
			if err != nil {
				to.Close()
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", to)
			if err != nil {
				near.Close()
				return
			}
			t.Cleanup(func() { near.Close(); far.Close() })
			go pass(near, far)
			go pass(far, near)
		}
	}()
	return l.Addr().String(), func() { close(frozen) }
}

// Streams that begin with what is no call are given up, so that an agent that
// opened many of them is heard again.
func TestStreamsWithoutCalls(t *testing.T) {
	t.Parallel()
	h := agenttest.New(t)
	api := agentapi.New(agentapi.Config{Presence: h.Presence, Board: h.Board, Authority: h.Authority, KeepAlive: 3 * time.Second})
	srv := httptest.NewServer(api.Handler())
	t.Cleanup(srv.Close)
	t.Cleanup(func() { _ = api.Stop(t.Context()) })
	call, session := wire(t, &url.URL{Scheme: "http", Host: srv.Listener.Addr().String()}, h.Workspace("ws").Token)
	if _, err := call().Hello(t.Context(), &agentrpc.HelloRequest{}); err != nil {
		t.Fatal(err)
	}
	for range 20 { // more than are answered at a time
		s, err := session.OpenStream()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := s.Write(drpcwire.AppendFrame(nil, drpcwire.Frame{Kind: drpcwire.KindMessage, ID: drpcwire.ID{Stream: 1, Message: 1}, Done: true})); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
	defer cancel()
	if _, err := call().Ping(ctx, &agentrpc.PingRequest{}); err != nil {
		t.Error(err)
	}
}

// An agent whose machine vanishes without a word is shown as disconnected once
// it has left a question unanswered.
func TestSilentAgent(t *testing.T) {
	t.Parallel()
	h := agenttest.New(t)
	api := agentapi.New(agentapi.Config{Presence: h.Presence, Board: h.Board, Authority: h.Authority, KeepAlive: 3 * time.Second})
	srv := httptest.NewServer(api.Handler())
	t.Cleanup(srv.Close)
	t.Cleanup(func() { _ = api.Stop(t.Context()) })
	addr, freeze := freezer(t, srv.Listener.Addr().String())
	a := h.Workspace("ws")
	call, session := wire(t, &url.URL{Scheme: "http", Host: addr}, a.Token)
	if _, err := call().Hello(t.Context(), &agentrpc.HelloRequest{}); err != nil {
		t.Fatal(err)
	}
	view := func() codersdk.WorkspaceAgent {
		t.Helper()
		v, err := h.Presence.View(t.Context(), h.Owner, a.ID)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	testwait.Until(t, "a question is answered", func() bool { return len(view().Latency) > 0 })
	if _, err := session.Ping(); err != nil {
		t.Fatal(err)
	}
	if s := view().Status; s != codersdk.WorkspaceAgentStatusConnected {
		t.Errorf("while it answers it is %s", s)
	}
	freeze()
	testwait.Until(t, "the agent is disconnected", func() bool { return view().Status == codersdk.WorkspaceAgentStatusDisconnected })
}
