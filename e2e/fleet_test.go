package e2e

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/embedded"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest/migrated"
	"github.com/seed-2a7f8fe7/coder/internal/testport"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// healthInterval is the interval of a balancer's health checks.
const healthInterval = 200 * time.Millisecond

// balancer forwards TCP connections to the healthy servers in turn, as a load balancer
// with health checks does.
type balancer struct {
	net.Listener
	servers []string
	stop    context.CancelFunc

	mu      sync.Mutex
	healthy map[string]bool
	removed map[string]bool // servers that get no connections, although they are healthy
	next    int
}

func newBalancer(t *testing.T, servers ...string) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	b := &balancer{Listener: l, servers: servers, stop: stop, healthy: map[string]bool{}, removed: map[string]bool{}}
	var running sync.WaitGroup
	t.Cleanup(func() { stop(); l.Close(); running.Wait() })
	for _, s := range servers {
		running.Go(func() { b.check(ctx, s) })
	}
	running.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go b.forward(in)
		}
	})
	return b
}

func (b *balancer) url() string { return "http://" + b.Addr().String() }

// check polls the health of a server until the test ends.
func (b *balancer) check(ctx context.Context, server string) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for ctx.Err() == nil {
		resp, err := client.Get("http://" + server + "/healthz")
		if err == nil {
			resp.Body.Close()
		}
		b.mu.Lock()
		b.healthy[server] = err == nil && resp.StatusCode == http.StatusOK
		b.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(healthInterval):
		}
	}
}

// remove stops new connections to a server, or allows them again.
func (b *balancer) remove(server string, removed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.removed[server] = removed
}

// choose returns a healthy server, or any server if none is healthy.
func (b *balancer) choose() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.servers {
		b.next = (b.next + 1) % len(b.servers)
		if s := b.servers[b.next]; b.healthy[s] && !b.removed[s] {
			break
		}
	}
	return b.servers[b.next]
}

func (b *balancer) forward(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", b.choose())
	if err != nil { // try the next server, as load balancers do
		out, err = net.Dial("tcp", b.choose())
	}
	if err != nil {
		return
	}
	defer out.Close()
	go func() {
		io.Copy(out, in) //nolint:errcheck // the other side sees the end
		out.Close()
	}()
	io.Copy(in, out) //nolint:errcheck // the other side sees the end
}

// fleet is two servers on one database behind a balancer.
type fleet struct {
	*testServer
	database string
	balancer *balancer
	replicas [2]replica
}

type replica struct {
	address string
	cmd     *exec.Cmd
}

// startPostgres starts a PostgreSQL with an empty database that the servers of a test share.
func startPostgres(t *testing.T) *embedded.Cluster {
	t.Helper()
	return startCluster(t, filepath.Join(t.TempDir(), "postgres"))
}

// startMigrated is like startPostgres, but the database has the schema.
func startMigrated(t *testing.T) *embedded.Cluster {
	t.Helper()
	dir, err := migrated.Copy()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) // it is also removed when this process ends
	return startCluster(t, dir)
}

func startCluster(t *testing.T, dir string) *embedded.Cluster {
	t.Helper()
	db, err := embedded.Start(t.Context(), embedded.Config{Dir: dir, Settings: map[string]string{"fsync": "off", "full_page_writes": "off", "dynamic_shared_memory_type": "mmap"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Stop(context.Background()) }) // without it, PostgreSQL is killed
	return db
}

// newFleet starts two servers of a program.
func newFleet(t *testing.T, program string) *fleet {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	start := startMigrated
	if program != bin {
		start = startPostgres // the other version must run its own migrations
	}
	db := start(t)
	f := &fleet{testServer: &testServer{bin: bin, dir: t.TempDir(), tmp: shortDir(t)}, database: db.URL()}
	t.Cleanup(f.killAgents)
	for i := range f.replicas {
		f.replicas[i].address = testport.FreeAddress(t)
	}
	f.balancer = newBalancer(t, f.replicas[0].address, f.replicas[1].address)
	f.address = f.balancer.Addr().String()
	for i := range f.replicas {
		f.serve(t, i, program)
	}
	return f
}

func (f *fleet) log(i int) string { return filepath.Join(f.dir, "server"+strconv.Itoa(i)+".log") }

// serve starts a replica and waits until it is healthy.
func (f *fleet) serve(t *testing.T, i int, program string) {
	t.Helper()
	own := *f.testServer
	own.bin = program
	r := &f.replicas[i]
	r.cmd = own.start(t, f.log(i), f.env("CODER_CACHE_DIRECTORY="+filepath.Join(f.dir, "cache"+strconv.Itoa(i))), "server",
		"--http-address", r.address, "--access-url", f.balancer.url(), "--derp-server-relay-url", "http://"+r.address,
		"--postgres-url", f.database, "--provisioner-daemons", "2", "--provisioner-daemon-psk", password)
	awaitHealth(t, r.address)
	testwait.Until(t, "the balancer finds it healthy", func() bool {
		f.balancer.mu.Lock()
		defer f.balancer.mu.Unlock()
		return f.balancer.healthy[r.address]
	})
}

// replace stops a replica as an orchestrator does and starts another program in its
// place. The balancer detects this with its health checks, unless the stopped version
// does not have --drain-period yet.
func (f *fleet) replace(t *testing.T, i int, program string, drains bool) {
	t.Helper()
	r := &f.replicas[i]
	f.balancer.remove(r.address, !drains)
	defer f.balancer.remove(r.address, false)
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.cmd.Wait() //nolint:errcheck // the log has the exit reason
	f.serve(t, i, program)
}

// prepare creates the first user and the workspace dev, which has the app echo. It
// calls change with the directory of the template before it pushes the template. It
// returns the workspace with the network of its user.
func (f *fleet) prepare(t *testing.T, change ...func(template string)) *remote {
	t.Helper()
	f.run(t, "login", f.balancer.url(), "--first-user-username", "admin", "--first-user-email", "admin@example.com", "--first-user-password", password)
	template := filepath.Join(f.dir, "template")
	if err := os.CopyFS(template, os.DirFS("../examples/templates/local")); err != nil {
		t.Fatal(err)
	}
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here I am") }))
	t.Cleanup(app.Close)
	source := "resource \"coder_app\" \"echo\" {\n  agent_id = coder_agent.main.id\n  slug     = \"echo\"\n  url      = \"" + app.URL + "\"\n}\n"
	if err := os.WriteFile(filepath.Join(template, "app.tf"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(template)
	}
	f.run(t, "templates", "push", "local", "--directory", template, "--yes")
	f.run(t, "create", "dev", "--template", "local", "--use-parameter-defaults", "--yes")
	f.run(t, "ssh", "dev", "true")
	t.Cleanup(func() { _, _ = f.try("delete", "dev", "--yes") }) // otherwise its agent keeps running
	return &remote{testServer: f.testServer, user: newFaultyNetwork(t, f.address)}
}
