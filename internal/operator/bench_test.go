package operator_test

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/controlplane"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
	"github.com/seed-2a7f8fe7/coder/internal/operator/podspec"
)

// measured is the program that TestMeasure measures.
var measured = flag.String("measure", "", "the coder-operator to measure; `make bench-operator` sets it")

// row prints a figure and its goal, the most it should be.
func row(name string, value, goal float64, unit string) {
	verdict := "ok"
	if value > goal {
		verdict = "short"
	}
	fmt.Printf("%-32s %10.3g%-3s %10.3g%-3s %s\n", name, value, unit, goal, unit, verdict)
}

// gate is a proxy that counts requests that are no streams. It lets nothing
// through once it is shut.
type gate struct {
	*httptest.Server
	n    atomic.Int64
	shut atomic.Bool
	seen func() // called of each that is counted, before it is passed on; may be nil
}

// newGate makes a gate to a server.
func newGate(t testing.TB, to string, through http.RoundTripper) *gate {
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	p := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(u); r.Out.Host = r.In.Host },
		Transport: through, FlushInterval: -1, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	g := &gate{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.shut.Load() {
			panic(http.ErrAbortHandler)
		}
		if !strings.Contains(r.URL.RawQuery, "watch=true") && !strings.Contains(r.URL.Path, "/leases/") && r.Header.Get("Upgrade") == "" {
			g.n.Add(1)
			if g.seen != nil {
				g.seen()
			}
		}
		p.ServeHTTP(w, r)
	}))
	t.Cleanup(g.CloseClientConnections)
	return g
}

// program is the operator's binary that runs against the cluster, by way of gates.
type program struct {
	*exec.Cmd
	kube, far *gate
	gone      chan struct{}
	left      atomic.Int64 // it is killed as it asks for so much more
}

func (w *town) program(t testing.TB, binary string) *program {
	through, err := rest.TransportFor(cluster.Operator())
	if err != nil {
		t.Fatal(err)
	}
	p := &program{kube: newGate(t, cluster.Rest.Host, through), far: newGate(t, w.AccessURL().String(), nil), gone: make(chan struct{})}
	p.left.Store(never)
	p.kube.seen, p.far.seen = p.countDown, p.countDown
	config := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "x", "clusters": [{"name": "x", "cluster": {"server": %q}}],
"contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}], "users": [{"name": "x"}]}`, p.kube.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Cmd = exec.CommandContext(context.WithoutCancel(t.Context()), binary, "--leader-elect=false", "--health-probe-bind-address=0", "--metrics-bind-address=0", "--namespaces="+w.ns)
	// Servers are reached by names that only a cluster knows.
	p.Env = append(os.Environ(), "KUBECONFIG="+config, "HTTP_PROXY="+p.far.URL, "NO_PROXY=127.0.0.1")
	p.Stderr = io.Discard
	if testing.Verbose() {
		p.Stderr = os.Stderr
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.Wait()
		close(p.gone)
	}()
	t.Cleanup(p.kill)
	return p
}

func (p *program) countDown() {
	if p.left.Add(-1) == 0 {
		_ = p.Process.Kill()
	}
}

// kill is kill -9.
func (p *program) kill() {
	_ = p.Process.Kill()
	<-p.gone
}

// memory returns the most that a process had in memory, in MB.
func (p *program) memory(t testing.TB) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	if err != nil {
		t.Skip("no /proc here: ", err)
	}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		if f := strings.Fields(s.Text()); len(f) > 1 && f[0] == "VmHWM:" {
			kb, _ := strconv.ParseFloat(f[1], 64)
			return kb / 1024
		}
	}
	return 0
}

// TestMeasure is `make bench-operator`: rows of what many pools cost the real
// program, and one pool.
func TestMeasure(t *testing.T) {
	if *measured == "" {
		t.Skip("run make bench-operator")
	}
	program, err := os.Stat(*measured)
	must(t, err)
	row("operator binary", float64(program.Size())/1e6, 50, "MB")
	t.Run("settle", measureSettling)
	t.Run("idle", measureIdle)
}

func measureSettling(t *testing.T) {
	const pools = 500
	w := newTown(t, quiet)
	w.node.Interval = time.Second
	p := w.program(t, *measured)
	w.controlPlane(t)
	all := w.cached(t)
	floor := timeFloor(t, p.kube, pools)
	calls, far := p.kube.n.Load(), p.far.n.Load()
	begun := time.Now()
	each(t, pools, func(i int) error {
		p := &v1alpha1.CoderProvisioner{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pool-%03d", i), Namespace: w.ns}}
		p.Spec.ControlPlaneRef.Name, p.Spec.Replicas = "main", new(int32(0))
		return cluster.Client.Create(t.Context(), p)
	})
	w.settled(t, all, pools, 4*time.Minute)
	took := time.Since(begun)
	calls, far = p.kube.n.Load()-calls, p.far.n.Load()-far
	at := p.kube.n.Load() + p.far.n.Load()
	pause(t, 10*time.Second)
	loops := p.kube.n.Load() + p.far.n.Load() - at
	fmt.Printf("settled %d pools in %s, the floor is %s; then %d calls in 10 s\n", pools, took.Round(time.Second), floor.Round(time.Second/10), loops)
	row("settle of 500 pools, to floor", took.Seconds()/floor.Seconds(), 3, "x")
	row("cluster calls per new pool", float64(calls)/pools, 25, "")
	row("server calls per new pool", float64(far)/pools, 4, "")
	row("calls per pool and minute at rest", float64(loops)*6/pools, 0.4, "")
	row("memory with 500 pools", p.memory(t), 150, "MB")
}

// pause waits.
func pause(t testing.TB, d time.Duration) {
	select {
	case <-t.Context().Done():
	case <-time.After(d):
	}
}

// each calls do for 0 to n-1, eight at a time.
func each(t testing.TB, n int, do func(int) error) {
	t.Helper()
	var next atomic.Int64
	ended := make(chan error)
	for range 8 {
		go func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := do(i); err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	for range 8 {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
}

// timeFloor times what cannot be had for less: a write each of the resource and
// of the objects that a pool is made of, by the operator's account, whose rights
// the API server compares with those of each role, by way of the gate that the
// program's calls pass.
func timeFloor(t testing.TB, by *gate, pools int) time.Duration {
	ns := cluster.Namespace(t)
	operator, err := client.New(&rest.Config{Host: by.URL, QPS: -1}, client.Options{Scheme: cluster.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	each(t, pools, func(i int) error {
		meta := metav1.ObjectMeta{Name: fmt.Sprintf("floor-%03d", i), Namespace: ns}
		cp := &v1alpha1.CoderControlPlane{ObjectMeta: meta}
		p := &v1alpha1.CoderProvisioner{ObjectMeta: meta}
		p.Spec.ControlPlaneRef.Name = "main"
		d := controlplane.Deployment(cp, "")
		d.Spec.Template.Spec.Containers[0].Image, d.OwnerReferences, d.Spec.Replicas = "image", nil, new(int32(0))
		if err := cluster.Client.Create(t.Context(), p); err != nil {
			return err
		}
		for _, o := range []client.Object{
			&corev1.Secret{ObjectMeta: meta}, &corev1.ServiceAccount{ObjectMeta: meta},
			&rbacv1.Role{ObjectMeta: meta, Rules: podspec.Rules(v1alpha1.RBACSpec{})},
			&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}}, d,
		} {
			if err := operator.Create(t.Context(), o); err != nil {
				return err
			}
		}
		return nil
	})
	return time.Since(begun)
}

// cached reads the town's objects from a watch: a list of five hundred pools
// takes the API server half a second.
func (w *town) cached(t testing.TB) client.Reader {
	t.Helper()
	c, err := cache.New(cluster.Rest, cache.Options{Scheme: cluster.Client.Scheme(), DefaultNamespaces: map[string]cache.Config{w.ns: {}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	if !c.WaitForCacheSync(t.Context()) {
		t.Fatal("the cache was not filled")
	}
	return c
}

// settled waits until all of so many pools are ready.
func (w *town) settled(t testing.TB, from client.Reader, pools int, within time.Duration) {
	t.Helper()
	kubetest.Until(t, within, func(ctx context.Context) string {
		var all v1alpha1.CoderProvisionerList
		if err := from.List(ctx, &all, client.InNamespace(w.ns), client.UnsafeDisableDeepCopy); err != nil {
			return err.Error()
		}
		n := 0
		for i := range all.Items {
			if ready(&all.Items[i]) == "" {
				n++
			}
		}
		if n < pools {
			return fmt.Sprintf("%d of %d are ready", n, pools)
		}
		return ""
	})
}

// measureIdle has an hour pass in forty seconds, for a control plane with one
// pool, which is where a resource costs the most.
func measureIdle(t *testing.T) {
	const idle, hour = 20 * time.Second, 40 * time.Second
	w := newTown(t, quiet)
	kube, config, far := w.counted()
	w.run(t, config, far.client(), idle)
	w.controlPlane(t)
	w.pool(t, "one", func(s *v1alpha1.CoderProvisionerSpec) { s.Autoscaling = &v1alpha1.AutoscalingSpec{MaxReplicas: 3} })
	w.become(t, "one", ready)
	pause(t, idle/4)
	kube.n.Store(0)
	far.n.Store(0)
	pause(t, hour)
	row("server calls per resource and hour", float64(far.n.Load())/2, 12, "")
	row("cluster calls per resource and hour", float64(kube.n.Load())/2, 12, "")
}
