package agentapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/hashicorp/yamux"
	"google.golang.org/protobuf/types/known/timestamppb"
	"storj.io/drpc/drpcconn"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

func request(t *testing.T, u *url.URL, method, path, token string, body any) (int, string) {
	t.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	default:
		j, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		r = bytes.NewReader(j)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, u.String()+"/api/v2/workspaceagents/me"+path, r)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set(codersdk.SessionTokenHeader, token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestREST(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	a := h.Workspace("ws")
	old := h.Workspace("other")
	h.Build(old.WorkspaceID, 2, "stop", "succeeded")
	src := uuid.New()
	type m = map[string]any
	for _, tc := range []struct {
		name, method, path, token string
		body                      any
		status                    int
		says                      string
	}{
		{"no token", "GET", "/rpc", "", nil, 401, "Coder-Session-Token"},
		{"unknown token", "GET", "/rpc", uuid.NewString(), nil, 401, "is not valid"},
		{"no token at all", "PATCH", "/logs", "'; DROP TABLE users", m{}, 401, "is not valid"},
		{"an earlier build's", "GET", "/rpc", old.Token, nil, 409, "earlier build"},
		{"not a WebSocket", "GET", "/rpc", a.Token, nil, 426, ""},
		{"log source", "POST", "/log-source", a.Token, m{"id": src, "display_name": "Mine", "icon": "/i.svg"}, 201, `"display_name":"Mine"`},
		{"log source without name", "POST", "/log-source", a.Token, m{"id": src}, 400, "display_name"},
		{"log source with a bad id", "POST", "/log-source", a.Token, m{"id": "x"}, 400, "JSON"},
		{"logs", "PATCH", "/logs", a.Token, m{"log_source_id": src, "logs": []m{{"created_at": time.Now(), "level": "warn", "output": "careful"}}}, 200, ""},
		{"logs without source", "PATCH", "/logs", a.Token, m{"logs": []m{{"output": "anonymous"}}}, 200, ""},
		{"no logs", "PATCH", "/logs", a.Token, m{"logs": []m{}}, 400, "logs"},
		{"no JSON", "PATCH", "/logs", a.Token, "{", 400, "JSON"},
		{"too large", "PATCH", "/logs", a.Token, `"` + strings.Repeat("x", 5<<20), 413, ""},
		{"key", "GET", "/gitsshkey", a.Token, nil, 200, `"private_key":"private"`},
		{"full", "PATCH", "/logs", a.Token, m{"log_source_id": src, "logs": []m{{"output": strings.Repeat("x", 1<<20)}}}, 413, "full"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, body := request(t, u, tc.method, tc.path, tc.token, tc.body)
			if status != tc.status || !strings.Contains(body, tc.says) {
				t.Errorf("%d %.300s", status, body)
			}
			if r := (codersdk.Response{}); status >= 400 && status != 426 && (json.Unmarshal([]byte(body), &r) != nil || r.Message == "") {
				t.Errorf("no error body: %.300s", body)
			}
		})
	}
	lines, err := h.Presence.Logs(t.Context(), h.Owner, a.ID, 0, 0)
	if err != nil || len(lines) != 2 || lines[0].Output != "careful" || lines[0].Level != "warn" || lines[1].Output != "anonymous" {
		t.Errorf("%v: %+v", err, lines)
	}
	v, err := h.Presence.View(t.Context(), h.Owner, a.ID)
	if err != nil || len(v.LogSources) != 2 || !v.LogsOverflowed {
		t.Errorf("%v: %+v", err, v.LogSources)
	}
}

// wire is a control connection without an agent.
func wire(t *testing.T, u *url.URL, token string) (call func() agentrpc.DRPCAgentClient, session *yamux.Session) {
	t.Helper()
	c := codersdk.New(u)
	c.SessionToken = token
	ws, err := c.Dial(t.Context(), "/workspaceagents/me/rpc", nil)
	if err != nil {
		t.Fatal(err)
	}
	conf := yamux.DefaultConfig()
	conf.LogOutput = io.Discard
	session, err = yamux.Client(websocket.NetConn(context.Background(), ws, websocket.MessageBinary), conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close(); ws.CloseNow() })
	return func() agentrpc.DRPCAgentClient {
		s, err := session.OpenStream()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return agentrpc.NewDRPCAgentClient(drpcconn.New(s))
	}, session
}

func TestBadReports(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		p.Env = map[string]string{"A": "b"}
		p.Scripts = []*provisioner.Script{{DisplayName: "S", Script: "true", Icon: "/s.svg", RunOnStart: true, TimeoutSeconds: 7, LogPath: "l"}}
		p.Metadata = []*provisioner.Agent_Metadata{{Key: "k", Script: "x", Interval: 3, Timeout: 2}}
	})
	call, session := wire(t, u, a.Token)
	ctx := t.Context()
	m, err := call().Hello(ctx, &agentrpc.HelloRequest{Version: "v\x00 1", Subsystems: []string{"envbox", "nonsense"}, Certificate: []byte("c")})
	if err != nil {
		t.Fatal(err)
	}
	if m.WorkspaceName != "ws" || m.OwnerUsername != "ann" || m.Environment["A"] != "b" || len(m.Scripts) != 1 || m.Scripts[0].TimeoutSeconds != 7 ||
		m.Scripts[0].Icon != "/s.svg" || len(m.Metadata) != 1 || m.Metadata[0].IntervalSeconds != 3 || len(m.SshHostKeySeed) != 32 || len(m.ClientCa) == 0 {
		t.Errorf("%v", m)
	}
	v, err := h.Presence.View(ctx, h.Owner, a.ID)
	if err != nil || v.Version != "v 1" || len(v.Subsystems) != 1 || v.APIVersion != "1.0" {
		t.Errorf("%v: %+v", err, v)
	}
	for name, tc := range map[string]struct {
		do   func() error
		code codersdk.Code
	}{
		"state": {func() error {
			_, err := call().UpdateLifecycle(ctx, &agentrpc.LifecycleRequest{State: "x"})
			return err
		}, codersdk.CodeInvalid},
		"jump": {func() error {
			_, err := call().UpdateLifecycle(ctx, &agentrpc.LifecycleRequest{State: "shutdown_error"})
			return err
		}, codersdk.CodeConflict},
		"source": {func() error {
			_, err := call().AppendLogs(ctx, &agentrpc.LogsRequest{LogSourceId: []byte("short")})
			return err
		}, codersdk.CodeInvalid},
		"script": {func() error {
			_, err := call().ReportScriptTiming(ctx, &agentrpc.ScriptTimingRequest{ScriptId: m.AgentId})
			return err
		}, codersdk.CodeInvalid},
		"no script": {func() error { _, err := call().ReportScriptTiming(ctx, &agentrpc.ScriptTimingRequest{}); return err }, codersdk.CodeInvalid},
		"app": {func() error {
			_, err := call().UpdateAppHealth(ctx, &agentrpc.AppHealthRequest{Health: map[string]string{"x": "healthy"}})
			return err
		}, codersdk.CodeInvalid},
		"other's app": {func() error {
			_, err := call().UpdateAppHealth(ctx, &agentrpc.AppHealthRequest{Health: map[string]string{uuid.NewString(): "healthy"}})
			return err
		}, ""},
		"absurd times": {func() error {
			_, err := call().UpdateLifecycle(ctx, &agentrpc.LifecycleRequest{State: "starting", ChangedAt: &timestamppb.Timestamp{Seconds: 1 << 62}})
			return err
		}, ""},
		"metadata": {func() error {
			_, err := call().UpdateMetadata(ctx, &agentrpc.MetadataRequest{Values: []*agentrpc.MetadataValue{{Key: "k", Value: "\x00"}}})
			return err
		}, ""},
		"stats": {func() error {
			_, err := call().UpdateStats(ctx, &agentrpc.StatsRequest{SessionCountSsh: -5})
			return err
		}, ""},
		"ping": {func() error { _, err := call().Ping(ctx, &agentrpc.PingRequest{}); return err }, ""},
	} {
		if err := tc.do(); agentrpc.CodeOf(err) != tc.code {
			t.Errorf("%s: %v (%s), want %q", name, err, agentrpc.CodeOf(err), tc.code)
		}
	}
	// A second connection takes over; the server notifies the first and ends it.
	other, _ := wire(t, u, a.Token)
	if _, err := other().Hello(ctx, &agentrpc.HelloRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := call().Ping(ctx, &agentrpc.PingRequest{}); agentrpc.CodeOf(err) != codersdk.CodeConflict || !strings.Contains(err.Error(), "took over") {
		t.Errorf("%v", err)
	}
	select {
	case <-session.CloseChan():
	case <-time.After(testwait.Limit):
		t.Error("the connection that counts no more goes on")
	}
}

func TestGarbageOnTheWire(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	a := h.Workspace("ws")
	c := codersdk.New(u)
	c.SessionToken = a.Token
	for _, garbage := range []string{"", "GET / HTTP/1.1\r\n\r\n", strings.Repeat("\xff", 100)} {
		ws, err := c.Dial(t.Context(), "/workspaceagents/me/rpc", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := ws.Write(t.Context(), websocket.MessageBinary, []byte(garbage)); err != nil {
			t.Fatal(err)
		}
		if err := ws.Write(t.Context(), websocket.MessageText, []byte("text")); err != nil {
			t.Log(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
		for err = error(nil); err == nil; {
			_, _, err = ws.Read(ctx)
		}
		if ctx.Err() != nil {
			t.Errorf("%.20q: the server goes on", garbage)
		}
		cancel()
		ws.CloseNow()
	}
	call, _ := wire(t, u, a.Token)
	if _, err := call().Ping(t.Context(), &agentrpc.PingRequest{}); agentrpc.CodeOf(err) != codersdk.CodeConflict {
		t.Errorf("a connection that never said hello: %v", err)
	}
}
