package agentapi_test

import (
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
	"storj.io/drpc/drpcerr"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/api/agentv2"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// rpcSession opens a control connection with the query given.
func rpcSession(t *testing.T, u *url.URL, token, query string) *yamux.Session {
	t.Helper()
	ws, resp, err := websocket.Dial(t.Context(), u.String()+"/api/v2/workspaceagents/me/rpc?"+query, &websocket.DialOptions{
		HTTPHeader: http.Header{codersdk.SessionTokenHeader: {token}},
	})
	if err != nil {
		t.Fatal(query, err)
	}
	if resp.Body != nil {
		defer resp.Body.Close()
	}
	conf := yamux.DefaultConfig()
	conf.LogOutput = io.Discard
	session, err := yamux.Client(websocket.NetConn(context.Background(), ws, websocket.MessageBinary), conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close(); ws.CloseNow() })
	return session
}

// stream opens a stream for one call.
func stream(t *testing.T, session *yamux.Session) *drpcconn.Conn {
	t.Helper()
	s, err := session.OpenStream()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return drpcconn.New(s)
}

func logClient(t *testing.T, session *yamux.Session) agentv2.DRPCAgentClient {
	return agentv2.NewDRPCAgentClient(stream(t, session))
}

func TestRPCVersions(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	a := h.Workspace("dev")
	for _, query := range []string{
		"version=3.0", "version=2.9", "version=2.10", "version=2", "version=2.", "version=2.08", "version=2.-1", "version=2.0.0", "version=1.1", "version=0.9",
		"version=garbage", "version=" + strings.Repeat("2", 1000), "version=2.9&role=logstream-kube",
	} {
		status, body := request(t, u, "GET", "/rpc?"+query, a.Token, nil)
		var r codersdk.Response
		if err := json.Unmarshal([]byte(body), &r); err != nil || status != http.StatusBadRequest || r.Message == "" || len(r.Validations) != 1 || r.Validations[0].Field != "version" {
			t.Errorf("%.40s: %d %.300s", query, status, body)
		}
	}
	source := uuid.New()
	for _, query := range []string{
		"version=2.0", "version=2.1", "version=2.2", "version=2.3", "version=2.4", "version=2.5", "version=2.6", "version=2.7", "version=2.8",
		"version=2.8&role=logstream-kube", "version=2.8&role=agent", "version=1.0&role=logstream-kube", "role=other",
	} {
		out, err := logClient(t, rpcSession(t, u, a.Token, query)).BatchCreateLogs(t.Context(), &agentv2.BatchCreateLogsRequest{
			LogSourceId: source[:], Logs: []*agentv2.Log{{CreatedAt: timestamppb.Now(), Level: agentv2.Log_WARN, Output: query}},
		})
		if err != nil || out.LogLimitExceeded {
			t.Errorf("%s: %v %v", query, out, err)
		}
	}
	lines, err := h.Presence.Logs(t.Context(), h.Owner, a.ID, 0, 0)
	if err != nil || len(lines) != 13 || lines[0].Output != "version=2.0" || lines[0].Level != codersdk.LogLevelWarn || lines[0].SourceID != source {
		t.Errorf("%v: %+v", err, lines)
	}
}

// A program beside the agent leaves no trace but its log lines: the agent
// stays as it is, connected or not.
func TestRPCRole(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	a := h.Workspace("dev")
	const role = "version=2.8&role=logstream-kube"
	status := func() codersdk.WorkspaceAgent {
		v, err := h.Presence.View(t.Context(), h.Owner, a.ID)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	before := rpcSession(t, u, a.Token, role)
	if _, err := logClient(t, before).BatchCreateLogs(t.Context(), &agentv2.BatchCreateLogsRequest{
		LogSourceId: uuidBytes(), Logs: []*agentv2.Log{{Output: "pulling the image"}},
	}); err != nil {
		t.Fatal(err)
	}
	if v := status(); v.Status != "connecting" || v.FirstConnectedAt != nil {
		t.Errorf("before the agent connects: %s %v", v.Status, v.FirstConnectedAt)
	}
	call, agent := wire(t, u, a.Token)
	if _, err := call().Hello(t.Context(), &agentrpc.HelloRequest{Version: "v1"}); err != nil {
		t.Fatal(err)
	}
	after := rpcSession(t, u, a.Token, role)
	if _, err := logClient(t, after).BatchCreateLogs(t.Context(), &agentv2.BatchCreateLogsRequest{LogSourceId: uuidBytes(), Logs: []*agentv2.Log{{Output: "started"}}}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*yamux.Session{before, after} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := call().Ping(t.Context(), &agentrpc.PingRequest{}); err != nil {
		t.Errorf("the agent's own connection: %v", err)
	}
	if v := status(); v.Status != "connected" || v.Version != "v1" || agent.IsClosed() {
		t.Errorf("after the other connections: %s %s", v.Status, v.Version)
	}
}

func TestRPCLogsRefused(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	a := h.Workspace("dev")
	session := rpcSession(t, u, a.Token, "version=2.8&role=logstream-kube")
	send := func(source []byte, lines ...*agentv2.Log) error {
		_, err := logClient(t, session).BatchCreateLogs(t.Context(), &agentv2.BatchCreateLogsRequest{LogSourceId: source, Logs: lines})
		return err
	}
	if err := send([]byte("short")); agentrpc.CodeOf(err) != codersdk.CodeInvalid {
		t.Errorf("a source that is no id: %v", err)
	}
	if err := send(uuidBytes(), make([]*agentv2.Log, 10_001)...); agentrpc.CodeOf(err) != codersdk.CodeTooLarge {
		t.Errorf("too many lines: %v", err)
	}
	if err := send(uuidBytes(), &agentv2.Log{Level: 99, Output: "a\x00b"}); err != nil {
		t.Errorf("an unknown level: %v", err)
	}
	// Calls that only the agent makes, by either name of the service.
	for _, rpc := range []string{"/coder.agent.v2.Agent/GetManifest", "/coder.agent.v2.Agent/ReportBoundaryLogs", "/coder.tailnet.v2.Tailnet/Coordinate", "/agentrpc.Agent/Hello"} {
		in, out := []byte{}, []byte{}
		err := stream(t, session).Invoke(t.Context(), rpc, raw{}, &in, &out)
		if drpcerr.Code(err) != drpcerr.Unimplemented || !strings.Contains(err.Error(), rpc) {
			t.Errorf("%s: %v (%d)", rpc, err, drpcerr.Code(err))
		}
	}
	out, err := logClient(t, session).BatchCreateLogs(t.Context(), &agentv2.BatchCreateLogsRequest{
		LogSourceId: uuidBytes(), Logs: []*agentv2.Log{{Output: strings.Repeat("x", 1<<20)}, {Output: "more"}},
	})
	if err != nil || !out.LogLimitExceeded {
		t.Errorf("a full log: %v %v", out, err)
	}
	// The workspace is stopped: the connection of its last build ends.
	h.Build(a.WorkspaceID, 2, "stop", "succeeded")
	if err := send(uuidBytes(), &agentv2.Log{Output: "late"}); agentrpc.CodeOf(err) != codersdk.CodeConflict {
		t.Errorf("after a later build: %v", err)
	}
	select {
	case <-session.CloseChan():
	case <-time.After(testwait.Limit):
		t.Error("the connection of an earlier build goes on")
	}
}

func uuidBytes() []byte { id := uuid.New(); return id[:] }
