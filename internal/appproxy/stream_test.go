package appproxy_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// TestWebSocket speaks with an app by WebSocket, with a token and with cookies.
func TestWebSocket(t *testing.T) {
	p := newPlace(t, nil)
	p.app.page("/ws", func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"chat"}})
		if err != nil {
			return
		}
		for {
			kind, b, err := c.Read(r.Context())
			if err != nil {
				return
			}
			if c.Write(r.Context(), kind, b) != nil {
				return
			}
		}
	})
	b := p.browser(p.Client.SessionToken)
	b.open(p.on("code", "/"))
	for name, header := range map[string]http.Header{
		"token":   {"Coder-Session-Token": {p.Client.SessionToken}},
		"cookies": {"Origin": {"http://" + p.host("code")}},
	} {
		c, resp, err := websocket.Dial(t.Context(), p.on("code", "/ws"), &websocket.DialOptions{HTTPClient: b.Client, HTTPHeader: header, Subprotocols: []string{"chat"}})
		if err != nil {
			t.Fatalf("%s: %v %v", name, err, resp)
		}
		if c.Subprotocol() != "chat" {
			t.Errorf("%s: the protocol is %q", name, c.Subprotocol())
		}
		for _, text := range []string{"hello", strings.Repeat("x", 30_000)} {
			must(t, c.Write(t.Context(), websocket.MessageText, []byte(text)))
			if _, got, err := c.Read(t.Context()); err != nil || string(got) != text {
				t.Errorf("%s: %.20q, %v", name, got, err)
			}
		}
		must(t, c.Close(websocket.StatusNormalClosure, ""))
	}
}

// TestUpgrade passes protocols on that nobody here knows.
func TestUpgrade(t *testing.T) {
	p := newPlace(t, nil)
	p.app.page("/odd", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "gopher/1" {
			http.Error(w, "no", http.StatusTeapot)
			return
		}
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: gopher/1\r\n\r\n")
		line, _ := rw.ReadString('\n')
		_, _ = io.WriteString(c, "you said "+line)
	})
	c, err := net.Dial("tcp", p.AccessURL().Host)
	must(t, err)
	defer c.Close()
	must(t, c.SetDeadline(time.Now().Add(testwait.Limit)))
	fmt.Fprintf(c, "GET /odd HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: gopher/1\r\n\r\n", p.host("open"))
	in := bufio.NewReader(c)
	resp, err := http.ReadResponse(in, nil)
	must(t, err)
	if resp.StatusCode != 101 || resp.Header.Get("Upgrade") != "gopher/1" {
		t.Fatalf("%s %v", resp.Status, resp.Header)
	}
	fmt.Fprint(c, "hello\n")
	if line, err := in.ReadString('\n'); line != "you said hello\n" {
		t.Errorf("%q, %v", line, err)
	}
}

// TestEvents receives events as an app sends them, and closes the app's request when
// the client disconnects.
func TestEvents(t *testing.T) {
	p := newPlace(t, nil)
	next, gone := make(chan string), make(chan struct{})
	p.app.page("/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			select {
			case s := <-next:
				fmt.Fprintf(w, "data: %s\n\n", s)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				close(gone)
				return
			}
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", p.on("open", "/events"), nil)
	must(t, err)
	done := make(chan *http.Response, 1)
	go func() {
		resp, err := p.browser("").Do(r)
		if err != nil {
			t.Error(err)
		}
		done <- resp
	}()
	next <- "one"
	resp := <-done
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for _, want := range []string{"one", "two", "three"} {
		if want != "one" {
			next <- want
		}
		if !lines.Scan() || lines.Text() != "data: "+want {
			t.Fatalf("%q, want %q: %v", lines.Text(), want, lines.Err())
		}
		lines.Scan()
	}
	cancel()
	select {
	case <-gone:
	case <-time.After(testwait.Limit):
		t.Error("the app does not learn that nobody listens")
	}
}

// TestBodies sends and gets what does not fit into memory by the way, and sends
// what an app refuses before it has all.
func TestBodies(t *testing.T) {
	p := newPlace(t, nil)
	const size = 64 << 20
	p.app.page("/sum", func(w http.ResponseWriter, r *http.Request) {
		h := sha256.New()
		n, err := io.Copy(h, r.Body)
		fmt.Fprintf(w, "%d %x %v", n, h.Sum(nil), err)
	})
	p.app.page("/zeros", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.CopyN(w, zeros{}, size)
	})
	p.app.page("/full", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "too much", http.StatusRequestEntityTooLarge)
	})
	b := p.browser("")
	h := sha256.New()
	resp, err := b.Post(p.on("open", "/sum"), "application/octet-stream", io.TeeReader(io.LimitReader(rand.Reader, size), h))
	must(t, err)
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	resp.Body.Close()
	if want := fmt.Sprintf("%d %x <nil>", size, h.Sum(nil)); string(text) != want {
		t.Errorf("the app got %s, want %s", text, want)
	}
	resp, err = b.Get(p.on("open", "/zeros"))
	must(t, err)
	n, err := io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if n != size || err != nil {
		t.Errorf("%d bytes came: %v", n, err)
	}
	c, err := net.Dial("tcp", p.AccessURL().Host)
	must(t, err)
	defer c.Close()
	must(t, c.SetDeadline(time.Now().Add(testwait.Limit)))
	fmt.Fprintf(c, "POST /full HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n", p.host("open"), size)
	_, err = c.Write(make([]byte, 512<<10))
	must(t, err)
	resp, err = http.ReadResponse(bufio.NewReader(c), nil)
	must(t, err)
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("an upload that is refused: %s", resp.Status)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestGRPC passes HTTP/2 with trailers on, by HTTP/2.
func TestGRPC(t *testing.T) {
	p := newPlace(t, nil)
	p.app.page("/service/Method", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Grpc-Status")
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("X-Proto", r.Proto+" "+r.Header.Get("Te"))
		_, _ = io.Copy(w, r.Body)
		w.Header().Set("Grpc-Status", "0")
	})
	tr := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, p.AccessURL().Host)
		},
		Protocols: new(http.Protocols),
	}
	tr.Protocols.SetUnencryptedHTTP2(true)
	defer tr.CloseIdleConnections()
	for contentType, proto := range map[string]string{"application/grpc+proto": "HTTP/2.0 trailers", "text/plain": "HTTP/1.1 "} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", p.on("open", "/service/Method"), strings.NewReader("message"))
		must(t, err)
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("Te", "trailers")
		resp, err := tr.RoundTrip(r)
		must(t, err)
		body, err := io.ReadAll(resp.Body)
		must(t, err)
		resp.Body.Close()
		if resp.ProtoMajor != 2 || !strings.HasPrefix(resp.Header.Get("X-Proto"), proto) || string(body) != "message" || resp.Trailer.Get("Grpc-Status") != "0" {
			t.Errorf("%s: %s, the app was asked by %q, answered %q with %v", contentType, resp.Proto, resp.Header.Get("X-Proto"), body, resp.Trailer)
		}
	}
}

// TestTLSApp speaks HTTPS with an app that has a certificate of nobody.
func TestTLSApp(t *testing.T) {
	p := newPlace(t, nil)
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s over %d", r.URL.Path, r.TLS.Version)
	}))
	defer secure.Close()
	port := secure.URL[strings.LastIndexByte(secure.URL, ':')+1:]
	p.browser("").ask("GET", p.on(port+"s", "/x"), "", "Coder-Session-Token", p.Client.SessionToken).want(t, 200, "/x over")
	p.browser("").ask("GET", p.on(port, "/x"), "", "Coder-Session-Token", p.Client.SessionToken).want(t, 400, "HTTP request to an HTTPS server")
	p.browser("").ask("GET", p.on(p.app.port()+"s", "/x"), "", "Coder-Session-Token", p.Client.SessionToken).want(t, 502, "does not speak HTTPS")
}

// TestPages shows users why an app is not there, and what to do.
func TestPages(t *testing.T) {
	p := newPlace(t, nil)
	b := p.browser(p.Client.SessionToken)
	html := func(a answer) {
		t.Helper()
		if a.Header.Get("Content-Type") != "text/html; charset=utf-8" || a.Header.Get("Cache-Control") != "no-store" || !strings.Contains(a.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %v", a.Request.URL, a.Header)
		}
	}
	at := p.AccessURL().String() + "/@admin/dev.main/apps/"
	dead := b.open(at + "dead/")
	dead.want(t, 502, "&lt;i&gt;dead&lt;/i&gt; is not running")
	html(dead)
	if strings.Contains(dead.text, "<i>") {
		t.Errorf("what a template says is not escaped:\n%s", dead.text)
	}
	docs := b.open(at + "docs/")
	docs.want(t, 400, "&lt;script&gt;")
	if strings.Contains(docs.text, "<script>") {
		t.Errorf("what a template says is not escaped:\n%s", docs.text)
	}
	b.open(p.on("code", "/")).want(t, 200, "GET / ")

	p.app.page("/never", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	p.app.page("/hangup", func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			c.Close()
		}
	})
	b.open(p.on("code", "/hangup")).want(t, 502, "did not respond")
	ctx, cancel := context.WithCancel(t.Context())
	never := make(chan error, 1)
	go func() {
		r, err := http.NewRequestWithContext(ctx, "GET", p.on("open", "/never"), nil)
		if err == nil {
			_, err = p.browser("").Do(r)
		}
		never <- err
	}()
	b.open(p.on("code", "/others")).want(t, 200, "GET /others ") // while one never answers
	cancel()
	<-never

	p.stopAgent()
	p.await(func(w codersdk.Workspace) bool {
		return w.LatestBuild.Resources[0].Agents[0].Status == codersdk.WorkspaceAgentStatusDisconnected
	})
	lost := b.open(p.on("auth", "/"))
	lost.want(t, 503, "agent is disconnected")
	html(lost)
	// Also to whom a pass lets past the questions.
	b.open(p.on("code", "/")).want(t, 503, "agent is disconnected")
	p.browser("").ask("GET", p.on("open", "/"), "").want(t, 503, `"message":"The workspace's agent is disconnected"`)

	build, err := p.Client.CreateWorkspaceBuild(t.Context(), p.workspace, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop})
	must(t, err)
	p.follow("/workspacebuilds/" + build.ID.String() + "/logs")
	b.open(p.on("code", "/")).want(t, 503, "coder start admin/dev")
	for name, c := range map[string]struct{ set, want string }{
		"never connected": {"first_connected_at = NULL, created_at = now()", "has not connected yet"},
		"late":            {"first_connected_at = NULL, created_at = now() - interval '1 day', connection_timeout_seconds = 60", "did not connect in time"},
	} {
		p.exec(`UPDATE workspace_agents SET ` + c.set)
		p.exec(`UPDATE provisioner_jobs SET completed_at = completed_at, error = 'x' WHERE id = (SELECT job_id FROM workspace_builds WHERE id = $1)`, build.ID)
		if a := b.open(p.on("auth", "/")); a.StatusCode != 503 || !strings.Contains(a.text, c.want) {
			t.Errorf("%s: %s\n%s", name, a.Status, a.text)
		}
	}
}

// TestRestart opens an app again after its workspace was built again, while the
// browser still has a pass for what was there before.
func TestRestart(t *testing.T) {
	p := newPlace(t, nil)
	b := p.browser(p.Client.SessionToken)
	path := p.AccessURL().String() + "/@admin/dev.main/apps/code/"
	b.open(p.on("code", "/")).want(t, 200, "GET / ")
	b.open(path).want(t, 200, "GET / ")
	for _, transition := range []codersdk.WorkspaceTransition{"stop", "start"} {
		build, err := p.Client.CreateWorkspaceBuild(t.Context(), p.workspace, codersdk.CreateWorkspaceBuildRequest{Transition: transition})
		must(t, err)
		p.follow("/workspacebuilds/" + build.ID.String() + "/logs")
	}
	p.await(func(w codersdk.Workspace) bool {
		a := w.LatestBuild.Resources[0].Agents[0]
		return a.ID != p.agent && a.LifecycleState == codersdk.WorkspaceAgentLifecycleReady
	})
	b.open(p.on("code", "/after?a=1")).want(t, 200, "GET /after?a=1 ")
	b.open(path+"after?a=1").want(t, 200, "GET /after?a=1 ")
}

// TestTooMany bounds the requests to one workspace; others are served on.
func TestTooMany(t *testing.T) {
	p := newPlace(t, nil)
	release := make(chan struct{})
	var arrived sync.WaitGroup
	p.app.page("/wait", func(w http.ResponseWriter, _ *http.Request) {
		arrived.Done()
		<-release
	})
	const limit = 1024
	arrived.Add(limit)
	b := p.browser("")
	var all sync.WaitGroup
	for range limit {
		all.Go(func() {
			resp, err := b.Get(p.on("open", "/wait"))
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			if resp.StatusCode != 200 {
				t.Errorf("one within the bound: %s", resp.Status)
			}
		})
	}
	arrived.Wait()
	b.ask("GET", p.on("open", "/"), "").want(t, 503, "Too many")
	close(release)
	all.Wait()
	b.ask("GET", p.on("open", "/"), "").want(t, 200, "")
}
