package agent_test

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/hashicorp/yamux"
	"storj.io/drpc/drpcwire"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/usersecret"
)

// tap forwards requests to a server, and reports each call of an agent before it is
// forwarded.
func tap(t *testing.T, to *url.URL, called func(rpc string)) *url.URL {
	t.Helper()
	others := httputil.NewSingleHostReverseProxy(to)
	others.ErrorLog = log.New(io.Discard, "", 0) // connections end at any time
	var bridges sync.WaitGroup
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/workspaceagents/me/rpc") {
			others.ServeHTTP(w, r)
			return
		}
		bridges.Add(1)
		defer bridges.Done()
		bridge(w, r, to, called)
	}))
	t.Cleanup(bridges.Wait)
	t.Cleanup(srv.Close)
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// bridge forwards one control connection until either side closes it.
func bridge(w http.ResponseWriter, r *http.Request, to *url.URL, called func(rpc string)) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	header := http.Header{}
	for _, name := range []string{"Authorization", "Coder-Session-Token", "User-Agent"} {
		header[name] = r.Header[name]
	}
	far, resp, err := websocket.Dial(ctx, to.String()+r.URL.RequestURI(), &websocket.DialOptions{HTTPHeader: header}) //nolint:bodyclose // Dial replaces the body
	if err != nil {
		status := http.StatusBadGateway
		if resp != nil {
			status = resp.StatusCode
		}
		http.Error(w, err.Error(), status)
		return
	}
	defer far.CloseNow()
	near, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer near.CloseNow()
	far.SetReadLimit(-1)
	near.SetReadLimit(-1)
	conf := yamux.DefaultConfig()
	conf.LogOutput = io.Discard
	agentSide, err := yamux.Server(websocket.NetConn(ctx, near, websocket.MessageBinary), conf)
	if err != nil {
		return
	}
	defer agentSide.Close()
	serverSide, err := yamux.Client(websocket.NetConn(ctx, far, websocket.MessageBinary), conf)
	if err != nil {
		return
	}
	defer serverSide.Close()
	go forwardStreams(agentSide, serverSide, called)
	go forwardStreams(serverSide, agentSide, nil) // hints
	select {
	case <-agentSide.CloseChan():
	case <-serverSide.CloseChan():
	}
}

// forwardStreams forwards the streams that one side opens. It reports the call that each
// of them begins with, unless called is nil.
func forwardStreams(from, to *yamux.Session, called func(rpc string)) {
	for {
		in, err := from.AcceptStream()
		if err != nil {
			return
		}
		go func() {
			defer in.Close()
			var first []byte
			if called != nil {
				var rpc string
				if first, rpc, err = readCall(in); err != nil {
					return
				}
				called(rpc)
			}
			out, err := to.OpenStream()
			if err != nil {
				return
			}
			defer out.Close()
			go func() {
				if _, err := out.Write(first); err == nil {
					_, _ = io.Copy(out, in) // the other side sees the end
				}
				_ = out.Close() // half of it
			}()
			_, _ = io.Copy(in, out) // the other side sees the end
		}()
	}
}

// readCall reads a stream up to the name of its call, and returns what it read.
func readCall(c net.Conn) (read []byte, rpc string, err error) {
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return nil, "", err
		}
		read = append(read, buf[:n]...)
		for rest := read; ; {
			var frame drpcwire.Frame
			var whole bool
			if rest, frame, whole, err = drpcwire.ParseFrame(rest); err != nil {
				return nil, "", err
			}
			if !whole {
				break
			}
			if frame.Kind == drpcwire.KindInvoke {
				return read, string(frame.Data), nil
			}
		}
	}
}

// outage stops PostgreSQL for 5 seconds at the first call of a method.
type outage struct {
	method  string
	cluster *postgrestest.Cluster
	armed   <-chan struct{} // closed: calls count from now
	began   chan struct{}

	mu    sync.Mutex
	calls int
}

func (o *outage) called(rpc string) {
	select {
	case <-o.armed:
	default:
		return
	}
	if !strings.HasSuffix(rpc, "/"+o.method) {
		return
	}
	o.mu.Lock()
	o.calls++
	first := o.calls == 1
	o.mu.Unlock()
	if first {
		o.cluster.StopFor(5 * time.Second)
		close(o.began)
	}
}

func (o *outage) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls
}

// wireSecrets are user secrets in the form of the protocol.
type wireSecrets struct{ *usersecret.Service }

func (s wireSecrets) ForAgent(ctx context.Context, owner, template uuid.UUID, known []byte) (*agentrpc.UserSecretsResponse, error) {
	version, values, err := s.ForWorkspace(ctx, owner, template, known)
	out := &agentrpc.UserSecretsResponse{Version: version, Unchanged: bytes.Equal(version, known)}
	for _, v := range values {
		out.Secrets = append(out.Secrets, &agentrpc.UserSecret{Name: v.Name, EnvName: v.EnvName, FilePath: v.FilePath, Value: []byte(v.Value)})
	}
	return out, err
}

// TestDatabaseAwayAtEveryCall stops PostgreSQL for 5 seconds at the moment of each call of
// an agent: the workspace starts as it would have without that, with everything that
// its template declares, and everything that the agent reports arrives, once.
func TestDatabaseAwayAtEveryCall(t *testing.T) {
	t.Parallel()
	description := agentrpc.DRPCAgentDescription{}
	var all sync.WaitGroup
	turns := make(chan struct{}, 7) // they wait more than they compute
	for i := range description.NumMethods() {
		rpc, _, _, _, _ := description.Method(i)
		method := rpc[strings.LastIndex(rpc, "/")+1:]
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			t.Run(method, func(t *testing.T) { databaseAwayAt(t, method) })
		})
	}
	all.Wait()
}

// databaseAwayAt is TestDatabaseAwayAtEveryCall for one method.
func databaseAwayAt(t *testing.T, method string) {
	cluster := postgrestest.NewCluster(t)
	h := agenttest.NewOn(t, cluster.Store())
	vault, err := dbcrypt.New([]string{"MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="})
	if err != nil {
		t.Fatal(err)
	}
	if err := vault.Admit(t.Context(), h.Store); err != nil {
		t.Fatal(err)
	}
	secrets := usersecret.New(usersecret.Config{Store: h.Store, Hub: h.Hub, Vault: vault})
	h.Secrets = wireSecrets{secrets}
	if _, err := secrets.Create(t.Context(), h.Owner, h.Owner.UserID, codersdk.CreateUserSecretRequest{Name: "npm", EnvName: "NPM_TOKEN", Value: "from-the-vault"}); err != nil {
		t.Fatal(err)
	}

	website := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer website.Close()
	containers := strings.HasSuffix(method, "SubAgent") || method == "ListSubAgents"
	d := agenttest.NewDocker(t)
	dir := t.TempDir()
	a := h.Workspace("dev", func(p *provisioner.Agent) {
		p.Scripts = []*provisioner.Script{{DisplayName: "Start", RunOnStart: true, Script: "echo began with $NPM_TOKEN; touch " + dir + "/ran; echo done"}}
		p.Metadata = []*provisioner.Agent_Metadata{{Key: "ran", Script: "test -e " + dir + "/ran && echo yes || echo no", Interval: 1}}
		p.Apps = []*provisioner.App{{Slug: "web", Url: website.URL, Healthcheck: &provisioner.Healthcheck{Url: website.URL, Interval: 1, Threshold: 1}}}
		p.ResourcesMonitoring = &provisioner.ResourcesMonitoring{Memory: &provisioner.MemoryResourceMonitor{Enabled: true, Threshold: 1}}
		if containers {
			p.Devcontainers = []*provisioner.Devcontainer{{Name: "app", WorkspaceFolder: d.Folder("app", plainConfig)}}
		}
	})
	server, _ := h.Serve("")
	armed := make(chan struct{})
	o := &outage{method: method, cluster: cluster, armed: armed, began: make(chan struct{})}
	defer process(t, tap(t, server, o.called), a.Token, func(c *agent.Config) {
		c.Env, c.Devcontainers, c.MonitorInterval = append(c.Env, d.Env()...), containers, 100*time.Millisecond
	})()
	children := func() int {
		var n int
		if err := h.Store.Pool().QueryRow(t.Context(), "SELECT count(*) FROM workspace_agents WHERE parent_id = $1", a.ID).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if method == "DeleteSubAgent" {
		testwait.Until(t, "the dev container has an agent", func() bool { return children() == 1 })
		close(armed)
		d.Stop(d.Containers()[0])
	} else {
		close(armed)
	}
	testwait.Receive(t, "a call of "+method, o.began)
	cluster.WaitRunning()
	h.Store.Pool().Reset() // the test's own view of it is not what is tested
	testwait.Until(t, "the database answers", func() bool { _, err := h.Store.Pool().Exec(t.Context(), "SELECT 1"); return err == nil })

	reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleReady)
	testwait.Until(t, "what the agent reports is there", func() bool {
		v := view(t, h, a.ID)
		m, err := h.Presence.Metadata(t.Context(), h.Owner, a.ID)
		return err == nil && len(m) == 1 && m[0].Result.Value == "yes" && v.Apps[0].Health == codersdk.WorkspaceAppHealthHealthy &&
			v.ResourceMonitors[0].ChangedAt != nil && v.Status == codersdk.WorkspaceAgentStatusConnected && strings.Contains(logText(t, h, a.ID), "done")
	})
	if text := logText(t, h, a.ID); strings.Count(text, "began with from-the-vault\n") != 1 || strings.Count(text, "done\n") != 1 {
		t.Errorf("lines are missing, there twice, or without the secret:\n%s", text)
	}
	hasOneTiming(t, h)
	switch method {
	case "DeleteSubAgent":
		testwait.Until(t, "the agent of the dev container is gone", func() bool { return children() == 0 })
	case "CreateSubAgent", "ListSubAgents":
		testwait.Until(t, "the dev container has an agent", func() bool { return children() == 1 })
	case "UpdateStats", "Ping":
		testwait.Until(t, "further calls", func() bool { return o.count() > 1 })
	}
}
