package agentapi_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/hashicorp/yamux"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"storj.io/drpc"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcwire"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agentapi"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// agentCalls are all calls of the wire.
var agentCalls = []string{
	"/agentrpc.Agent/Hello", "/agentrpc.Agent/UpdateLifecycle", "/agentrpc.Agent/AppendLogs", "/agentrpc.Agent/ReportScriptTiming",
	"/agentrpc.Agent/UpdateAppHealth", "/agentrpc.Agent/UpdateMetadata", "/agentrpc.Agent/UpdateStats", "/agentrpc.Agent/UpdateMonitor",
	"/agentrpc.Agent/Ping", "/agentrpc.Agent/Nonsense",
}

// raw sends and takes bytes as they are.
type raw struct{}

func (raw) Marshal(m drpc.Message) ([]byte, error)   { return *m.(*[]byte), nil }
func (raw) Unmarshal(b []byte, m drpc.Message) error { *m.(*[]byte) = bytes.Clone(b); return nil }

// lines is a log that is searched.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.b.String(), text)
}

// FuzzAgentCalls sends raw requests to each call of an agent, and raw bytes
// where a call is expected. None may panic, none may be taken for a failure of
// the server, and the connection is as good as before.
func FuzzAgentCalls(f *testing.F) {
	for i, m := range []proto.Message{
		&agentrpc.HelloRequest{Version: "v1", Certificate: []byte("c"), Subsystems: []string{"envbox", "\xff"[:0]}},
		&agentrpc.LifecycleRequest{State: "ready", ChangedAt: timestamppb.Now()}, &agentrpc.LogsRequest{LogSourceId: make([]byte, 16), Lines: []*agentrpc.LogLine{{Output: "x"}}},
		&agentrpc.ScriptTimingRequest{ScriptId: make([]byte, 16)}, &agentrpc.AppHealthRequest{Health: map[string]string{"x": "healthy"}},
		&agentrpc.MetadataRequest{Values: []*agentrpc.MetadataValue{{Key: "cpu", Value: "1"}}}, &agentrpc.StatsRequest{RxBytes: -1, ConnectionMedianLatencyMs: -1},
		&agentrpc.MonitorRequest{Path: "/", Percent: -1},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(byte(i), b)
	}
	f.Add(byte(9), []byte("garbage"))
	f.Add(byte(200), []byte("garbage"))
	f.Add(byte(231), []byte("100\x1500 000009\xba\xba\xba0000\xc60000")) // begins with what is no call
	f.Add(byte(201), drpcwire.AppendFrame(nil, drpcwire.Frame{Kind: drpcwire.KindInvoke, ID: drpcwire.ID{Stream: 1, Message: 1}, Done: true, Data: []byte(agentCalls[0])}))
	h := agenttest.New(f)
	var log lines
	api := agentapi.New(agentapi.Config{Presence: h.Presence, Board: h.Board, Authority: h.Authority, KeepAlive: 3 * time.Second, Log: slog.New(slog.NewTextHandler(&log, nil))})
	srv := httptest.NewServer(api.Handler())
	f.Cleanup(srv.Close)
	f.Cleanup(func() { _ = api.Stop(context.Background()) })
	u, err := url.Parse(srv.URL)
	if err != nil {
		f.Fatal(err)
	}
	c := codersdk.New(u)
	c.SessionToken = h.Workspace("ws").Token
	ws, err := c.Dial(f.Context(), "/workspaceagents/me/rpc", nil)
	if err != nil {
		f.Fatal(err)
	}
	conf := yamux.DefaultConfig()
	conf.LogOutput = io.Discard
	session, err := yamux.Client(websocket.NetConn(context.Background(), ws, websocket.MessageBinary), conf)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { session.Close() })
	invoke := func(t testing.TB, rpc string, in []byte) error {
		st, err := session.OpenStream()
		if err != nil {
			t.Fatal("the connection is of no use any more:", err)
		}
		conn := drpcconn.New(st)
		defer conn.Close()
		ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
		defer cancel()
		var out []byte
		return conn.Invoke(ctx, rpc, raw{}, &in, &out)
	}
	if err := invoke(f, agentCalls[0], nil); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, call byte, data []byte) {
		if call >= 200 {
			st, err := session.OpenStream()
			if err != nil {
				t.Fatal(err)
			}
			_ = st.SetDeadline(time.Now().Add(testwait.Limit)) // a yamux stream always can
			_, _ = st.Write(data)                              // the server may have had enough
			st.Close()
		} else if err := invoke(t, agentCalls[int(call)%len(agentCalls)], data); err != nil && agentrpc.CodeOf(err) == codersdk.CodeInternal && log.has("ERROR") {
			t.Fatalf("%s: nonsense is taken for a failure of the server: %v", agentCalls[int(call)%len(agentCalls)], err)
		}
		if log.has("panicked") {
			t.Fatal("a call panicked")
		}
		if err := invoke(t, agentCalls[8], nil); err != nil {
			t.Fatal("the connection counts no more:", err)
		}
	})
}
