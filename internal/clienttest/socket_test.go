package clienttest

import (
	"bufio"
	"context"
	"crypto/sha1" //nolint:gosec // the clients' checksum
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/hashicorp/yamux"
	"google.golang.org/protobuf/types/known/timestamppb"
	"storj.io/drpc/drpcconn"

	"github.com/seed-2a7f8fe7/coder/api/agentv2"
)

// dial opens a WebSocket with the token of the session.
func (s *session) dial(path string) *websocket.Conn {
	s.t.Helper()
	ws, resp, err := websocket.Dial(s.t.Context(), s.w.url+path, &websocket.DialOptions{HTTPHeader: s.header()})
	if err != nil {
		s.t.Fatalf("%s: %v", path, err)
	}
	if resp.Body != nil {
		resp.Body.Close()
	}
	ws.SetReadLimit(16 << 20)
	s.t.Cleanup(func() { ws.CloseNow() })
	return ws
}

// read reads a text frame and decodes its JSON.
func (s *session) read(ws *websocket.Conn) (any, error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), waitTimeout)
	defer cancel()
	kind, b, err := ws.Read(ctx)
	if err != nil {
		return nil, err
	}
	if kind != websocket.MessageText {
		s.t.Errorf("the frame has the type %v, want text", kind)
	}
	return decode(s.t, b), nil
}

// frame returns the first frame of type data, after it checks the fields.
func (s *session) frame(path string, specs ...string) any {
	s.t.Helper()
	ws := s.dial(path)
	for {
		v, err := s.read(ws)
		s.must(err)
		if textAt(v, "type") == "ping" {
			continue
		}
		checkFields(s.t, v, "type =data")
		checkFields(s.t, v, specs...)
		return v
	}
}

// event reads the first server-sent event of type data and checks its fields.
func (s *session) event(path string, specs ...string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), waitTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.w.url+path, nil)
	s.must(err)
	req.Header = s.header()
	resp, err := http.DefaultClient.Do(req)
	s.must(err)
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || !strings.HasPrefix(kind, "text/event-stream") {
		s.t.Fatalf("%s: %d %s", path, resp.StatusCode, kind)
	}
	lines, kind := bufio.NewScanner(resp.Body), ""
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if k, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			kind = k
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && kind == "data" {
			checkFields(s.t, decode(s.t, []byte(data)), specs...)
			return
		}
	}
	s.t.Errorf("%s: no event: %v", path, lines.Err())
}

func watchWorkspace(s *session) {
	id := textAt(s.w.dev, "id")
	v := s.frame("/api/v2/workspaces/"+id+"/watch-ws", workspaceFields("data.")...)
	s.checkStatuses(at(v, "data"))
	s.event("/api/v2/workspaces/"+id+"/watch", workspaceFields("")...)
}

// watchInbox opens a WebSocket as the editor does, then receives a notification.
func watchInbox(s *session) {
	const outOf, custom = "f047f6a3-5713-40f7-85aa-0394cce9fa3a,a9d027b4-ac49-4fb1-9f6d-45af15f64e7a", "0c8e7116-4cd9-48ff-8000-4362d2a6c83a"
	s.dial("/api/v2/notifications/inbox/watch?format=plaintext&templates=" + outOf + "&targets=" + textAt(s.w.dev, "id"))
	ws := s.dial("/api/v2/notifications/inbox/watch?format=plaintext&templates=" + custom)
	s.ok("notifications", "custom", "Tests of "+s.name, "All **passed**.")
	v, err := s.read(ws)
	s.must(err)
	if title, content := textAt(v, "notification.title"), textAt(v, "notification.content"); title != "Tests of "+s.name || content != "All **passed**." {
		s.t.Errorf("the notification has title %q and content %q", title, content)
	}
}

func watchMetadata(s *session) {
	fields := []string{
		"[].result.collected_at time", "[].result.age integer", "[].result.value string", "[].result.error string",
		"[].description.display_name text", "[].description.key text", "[].description.script text", "[].description.interval integer", "[].description.timeout integer",
	}
	inFrame := []string{"data some"}
	for _, f := range fields {
		inFrame = append(inFrame, "data"+f)
	}
	s.frame("/api/v2/workspaceagents/"+s.w.agent+"/watch-metadata-ws", inFrame...)
	s.event("/api/v2/workspaceagents/"+s.w.agent+"/watch-metadata", append(fields, "some")...)
}

func followBuildLogs(s *session) {
	id := textAt(s.w.dev, "latest_build.id")
	s.follow("/api/v2/workspacebuilds/" + id + "/logs")
}

// follow reads the log of a job that has ended: one object per frame, then a normal
// closure. follow without a value means true. after skips lines.
func (s *session) follow(path string) {
	s.t.Helper()
	count := func(query string) (ids []float64) {
		ws := s.dial(path + query)
		for {
			v, err := s.read(ws)
			if status := websocket.CloseStatus(err); status == websocket.StatusNormalClosure || status == websocket.StatusGoingAway {
				return ids
			}
			s.must(err)
			checkFields(s.t, v, "id integer", "created_at time", "log_source text", "log_level text", "stage string", "output string")
			n, _ := at(v, "id").(float64)
			ids = append(ids, n)
		}
	}
	all := count("?follow=true")
	if len(all) < 2 {
		s.t.Fatalf("%d lines", len(all))
	}
	if bare := count("?follow&after=" + strconv.Itoa(int(all[0]))); len(bare) != len(all)-1 {
		s.t.Errorf("%d lines after the first of %d", len(bare), len(all))
	}
}

func followAgentLogs(s *session) {
	for _, query := range []string{"?follow=true", "?follow", "?follow&after=0"} {
		v, err := s.read(s.dial("/api/v2/workspaceagents/" + s.w.agent + "/logs" + query))
		s.must(err)
		checkFields(s.t, v, "some", "[].id integer", "[].created_at time", "[].output string", "[].level text", "[].source_id uuid")
	}
}

// refusedHandshakes checks that a failed handshake gets an HTTP status, which stops
// the client for good. It also checks that no subprotocol is required.
func refusedHandshakes(s *session) {
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}
	s.get("/api/v2/workspaces/"+someID+"/watch-ws", upgrade...).refused(404)
	s.get("/api/v2/workspaces/"+textAt(s.w.dev, "id")+"/watch-ws", append(upgrade, "Coder-Session-Token", "")...).refused(401)
	// The token can be in a cookie or in the query.
	for _, with := range []struct {
		query  string
		header http.Header
	}{{"?coder_session_token=" + s.token, nil}, {"", http.Header{"Cookie": {"coder_session_token=" + s.token}}}} {
		ws, resp, err := websocket.Dial(s.t.Context(), s.w.url+"/api/v2/workspaces/"+textAt(s.w.dev, "id")+"/watch-ws"+with.query, &websocket.DialOptions{HTTPHeader: with.header})
		if err != nil {
			s.t.Error(err)
			continue
		}
		if resp.Body != nil {
			resp.Body.Close()
		}
		if ws.Subprotocol() != "" {
			s.t.Errorf("subprotocol %q", ws.Subprotocol())
		}
		ws.CloseNow()
	}
}

// sendsLogs sends a log line over the agent RPC, as programs next to the agent do.
func sendsLogs(query string) func(*session) {
	return func(s *session) {
		ws := s.agentSession().dial("/api/v2/workspaceagents/me/rpc?" + query)
		conf := yamux.DefaultConfig()
		conf.LogOutput = io.Discard
		session, err := yamux.Client(websocket.NetConn(s.t.Context(), ws, websocket.MessageBinary), conf)
		s.must(err)
		defer session.Close()
		stream, err := session.OpenStream()
		s.must(err)
		defer stream.Close()
		source, line := uuid.MustParse("cabdacf8-7c90-425c-9815-cae3c75d1169"), "from "+query+" "+s.name
		out, err := agentv2.NewDRPCAgentClient(drpcconn.New(stream)).BatchCreateLogs(s.t.Context(), &agentv2.BatchCreateLogsRequest{
			LogSourceId: source[:], Logs: []*agentv2.Log{{CreatedAt: timestamppb.Now(), Level: agentv2.Log_INFO, Output: line}},
		})
		if err != nil || out.LogLimitExceeded {
			s.t.Fatal(out, err)
		}
		s.waitForLogLine(line)
		s.get("/api/v2/workspaceagents/" + s.w.agent).want(200).fields("status =connected")
		s.agentSession().get("/api/v2/workspaceagents/me/rpc?version=2.9").refused(400, "version")
	}
}

// waitForLogLine waits until the agent's log has a line.
func (s *session) waitForLogLine(line string) {
	s.t.Helper()
	s.eventually("/api/v2/workspaceagents/"+s.w.agent+"/logs", func(v any) bool { return strings.Contains(wholeJSON(v), line) })
}

// wholeJSON returns a value as JSON without HTML escaping.
func wholeJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // a decoded value always encodes
	return b.String()
}

// patchesLogs sends a log line over HTTP with an unregistered log source.
func patchesLogs(s *session) {
	line := "patched by " + s.name
	s.agentSession().send("PATCH", "/api/v2/workspaceagents/me/logs", map[string]any{
		"log_source_id": "3b579bf4-1ed8-4b99-87a8-e9a1e3410410",
		"logs":          []map[string]any{{"created_at": "2026-01-02T03:04:05Z", "output": line, "level": "info"}},
	}).want(200)
	s.waitForLogLine(line)
}

// downloads checks the program for this machine. The ETag is the checksum of the
// program for every encoding. The program reports the version of the server.
func downloads(s *session) {
	path := "/bin/coder-" + runtime.GOOS + "-" + runtime.GOARCH
	plain := s.get(path, "Coder-Session-Token", "", "Accept-Encoding", "identity").want(200)
	sum := sha1.Sum(plain.body) //nolint:gosec // the clients' checksum
	tag := `"` + hex.EncodeToString(sum[:]) + `"`
	if got := plain.header.Get("ETag"); got != tag {
		s.t.Errorf("ETag is %s, want %s", got, tag)
	}
	for name, want := range map[string]string{"Content-Type": "application/octet-stream", "X-Original-Content-Length": strconv.Itoa(len(plain.body))} {
		if got := plain.header.Get(name); got != want {
			s.t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	packed := s.send("HEAD", path, nil, "Coder-Session-Token", "", "Accept-Encoding", "gzip").want(200)
	if packed.header.Get("ETag") != tag || packed.header.Get("Content-Type") != "application/octet-stream" {
		s.t.Errorf("packed: %v", packed.header)
	}
	s.get(path, "Coder-Session-Token", "", "If-None-Match", tag, "Accept-Encoding", "identity").want(304)
	s.get(path, "Coder-Session-Token", "", "If-None-Match", tag, "Accept-Encoding", "gzip").want(304)
	program := filepath.Join(s.t.TempDir(), "coder")
	// A process that starts while the file is open for writing inherits it, and the file cannot run: "text file busy".
	syscall.ForkLock.RLock()
	err := os.WriteFile(program, plain.body, 0o700) //nolint:gosec // it is to run
	syscall.ForkLock.RUnlock()
	s.must(err)
	r := s.exec("", program, "version", "--output", "json")
	if v := textAt(decode(s.t, []byte(r.out)), "version"); v != s.serverVersion() {
		s.t.Errorf("the program is %q", v)
	}
}

// noSignature checks that signatures get 404, because no program is signed.
func noSignature(s *session) {
	a := s.get("/bin/coder-linux-amd64.asc", "Coder-Session-Token", "").want(404)
	if strings.Contains(a.header.Get("Content-Type"), "html") {
		s.t.Errorf("the answer is a page: %s", a.header.Get("Content-Type"))
	}
}

// platforms checks that the server serves the programs of platforms that it has. For
// other platforms, it returns 404 with instructions to add them.
func platforms(names ...string) func(*session) {
	return func(s *session) {
		for _, name := range names {
			a := s.send("HEAD", "/bin/"+name, nil, "Coder-Session-Token", "")
			if a.status == 404 {
				a = s.get("/bin/"+name, "Coder-Session-Token", "").want(404)
				if strings.Contains(a.header.Get("Content-Type"), "html") || len(a.body) == 0 {
					s.t.Errorf("%s: %s %.100s", name, a.header.Get("Content-Type"), a.body)
				}
				continue
			}
			a.want(200)
		}
	}
}

// headers stores the headers of the last request to a server.
type headers struct {
	url string
	mu  sync.Mutex
	h   http.Header
}

func headerServer(s *session) *headers {
	h := &headers{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.h = r.Header.Clone()
		h.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"message":"no"}`)
	}))
	s.t.Cleanup(srv.Close)
	h.url = srv.URL
	return h
}

// last returns the headers of the last request and clears them.
func (h *headers) last() http.Header {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.h
	h.h = nil
	return last
}

// git runs git in a directory.
func git(s *session, dir string, args ...string) {
	s.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=owner", "-c", "user.email=" + ownerEmail}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}
