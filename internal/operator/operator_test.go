package operator_test

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/operator"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
	"github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/server/database"
	"github.com/seed-2a7f8fe7/coder/internal/server/network"
	"github.com/seed-2a7f8fe7/coder/internal/server/sessions"
	"github.com/seed-2a7f8fe7/coder/internal/server/workspaces"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

var cluster *kubetest.Cluster

func TestMain(m *testing.M) {
	scheme, err := operator.Scheme()
	if err != nil {
		panic(err)
	}
	os.Exit(kubetest.Main(m, scheme, func(c *kubetest.Cluster) int {
		cluster = c
		code := m.Run()
		whole := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""
		if code != 0 || c.Rest == nil || !whole {
			return code
		}
		// The tests together do all that the operator does: a right that they do
		// not use is one that it does not need.
		unused, err := c.Unused(context.Background(), "coder-operator", "coder-operator-namespaces", "coder-operator/coder-operator-leader")
		if err != nil || len(unused) > 0 {
			fmt.Fprintln(os.Stderr, "deploy/operator/rbac.yaml has rights that the operator did not use:", err, strings.Join(unused, ", "))
			return 1
		}
		return 0
	}))
}

// wait is how long a test waits for what should be there by then; on a machine
// that has much to do it takes longer than one would think.
const wait = 2 * time.Minute

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// town is a namespace with an operator that looks after it, a node, and a
// server behind it that is reached by any name.
type town struct {
	*servertest.Server
	ns, dir string
	far     string // the address of the server when it is not the real one
	node    *kubetest.Node
	leader  string      // the namespace of the Lease, when operators elect one
	mayEnd  bool        // an operator may end with an error
	mute    atomic.Bool // pods of pools run, and no provisioner in them
	metrics string      // the address of metrics, "" for none
	cross   bool        // extra rules of the town's namespace apply in others
	next    atomic.Pointer[hold]
}

func newTown(t *testing.T, also ...string) *town {
	cluster.Need(t)
	t.Parallel()
	w := &town{ns: cluster.Namespace(t), dir: t.TempDir()}
	w.Server = servertest.Start(t, func(c *server.Config) { c.Provisioning.Daemons = 0 })
	w.Client.Header = http.Header{"X-Coder-Bypass-Ratelimit": {"true"}} // a test looks often
	w.node = &kubetest.Node{Cluster: cluster, Namespace: w.ns, Start: w.start}
	w.node.Run(t)
	if len(also) == 1 && also[0] == quiet {
		return w
	}
	w.operate(t, also...)
	return w
}

// quiet is a town without an operator.
const quiet = ""

// operate runs an operator of the town until the test ends.
func (w *town) operate(t *testing.T, also ...string) {
	w.run(t, cluster.Operator(), w.http(), 18*time.Second, also...)
}

// run runs an operator until the test ends, or until the stop it gives.
func (w *town) run(t *testing.T, config *rest.Config, h *http.Client, idle time.Duration, also ...string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	log := slog.New(slog.NewTextHandler(&lines{t: t}, nil))
	var cross []string
	if w.cross {
		cross = []string{w.ns}
	}
	go func() {
		ended <- operator.Run(ctx, operator.Config{
			CrossRules: cross, Aggregated: "coder-operator/coder-aggregated-apiserver",
			Rest: config, Log: log, HTTP: h, Namespaces: append(also, w.ns), ProbeAddress: "0", MetricsAddress: cmp.Or(w.metrics, "0"), SecureMetrics: true,
			Idle: idle, SkipNameValidation: true, LeaderElection: w.leader != "", LeaderNamespace: w.leader,
		})
	}()
	mayEnd := w.mayEnd || w.leader != ""
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil && !mayEnd {
			t.Error("the operator ended:", err)
			_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1) // shows what did not stop
		}
	})
	t.Cleanup(stop)
	return stop
}

// lines is a test's log of what the operator says.
type lines struct{ t *testing.T }

func (l *lines) Write(b []byte) (int, error) {
	if testing.Verbose() {
		fmt.Fprintf(os.Stderr, "%s: %s", l.t.Name(), b)
	}
	return len(b), nil
}

// http reaches the server by every host name, as a cluster's network would.
func (w *town) http() *http.Client {
	d := net.Dialer{}
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		if w.far != "" {
			return d.DialContext(ctx, network, w.far)
		}
		return d.DialContext(ctx, network, w.AccessURL().Host)
	}}}
}

// start is what runs in the pods: a real provisioner, or a real server over
// the town's database.
func (w *town) start(pod *corev1.Pod, env map[string]string) (kubetest.Process, error) {
	if env["CODER_PROVISIONER_DAEMON_KEY"] == "" {
		return w.replica(env)
	}
	if w.mute.Load() {
		return nothing{}, nil
	}
	u, err := url.Parse(env["CODER_URL"])
	if err != nil {
		return nil, err
	}
	c := codersdk.New(u)
	c.HTTP = w.http()
	ws := provisionerd.WebSocket{Client: c, Name: pod.Name, Key: env["CODER_PROVISIONER_DAEMON_KEY"], Provisioners: []string{"echo"}, Version: "v2.37.0-test"}
	d, err := provisionerd.New(provisionerd.Config{Dial: ws.Dial, Name: pod.Name, Engines: map[string]provisioner.Engine{"echo": held{w: w}}})
	if err != nil {
		return nil, err
	}
	return process{d}, d.Start(context.Background())
}

func (w *town) replica(env map[string]string) (kubetest.Process, error) {
	s, err := server.New(server.Config{
		Version: "v2.37.0-test", Log: slog.New(slog.DiscardHandler), ConfigDir: w.dir, CacheDir: w.dir,
		Database:   database.Config{URL: w.PostgresURL},
		Network:    network.Config{HTTPAddress: "127.0.0.1:0"},
		Sessions:   sessions.Config{OperatorToken: env["CODER_OPERATOR_TOKEN"]},
		Workspaces: workspaces.Config{HostnameSuffix: "coder"},
	})
	if err != nil {
		return nil, err
	}
	return process{s}, s.Start(context.Background())
}

// nothing runs in a pod.
type nothing struct{}

func (nothing) Stop() {}

type process struct {
	d interface {
		Stop(ctx context.Context) error
	}
}

// Stop lets a build end.
func (p process) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = p.d.Stop(ctx)
}

// controlPlane makes a control plane and waits for it.
func (w *town) controlPlane(t *testing.T) *v1alpha1.CoderControlPlane {
	t.Helper()
	cp := &v1alpha1.CoderControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: w.ns}}
	must(t, cluster.Client.Create(t.Context(), cp))
	kubetest.Until(t, wait, func(ctx context.Context) string {
		must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(cp), cp))
		if !cp.Status.OperatorAccessReady || cp.Status.Phase != v1alpha1.PhaseReady {
			return fmt.Sprintf("not ready: %+v", cp.Status)
		}
		return ""
	})
	return cp
}

func (w *town) pool(t *testing.T, name string, change func(*v1alpha1.CoderProvisionerSpec)) *v1alpha1.CoderProvisioner {
	t.Helper()
	p := &v1alpha1.CoderProvisioner{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.ns}}
	p.Spec.ControlPlaneRef.Name = "main"
	if change != nil {
		change(&p.Spec)
	}
	must(t, cluster.Client.Create(t.Context(), p))
	return p
}

// become waits until a pool is as check says.
func (w *town) become(t *testing.T, name string, check func(*v1alpha1.CoderProvisioner) string) *v1alpha1.CoderProvisioner {
	t.Helper()
	p := &v1alpha1.CoderProvisioner{}
	kubetest.Until(t, wait, func(ctx context.Context) string {
		if err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: name}, p); err != nil {
			return err.Error()
		}
		if s := check(p); s != "" {
			return fmt.Sprintf("%s; the status is %+v", s, p.Status)
		}
		return ""
	})
	return p
}

func ready(p *v1alpha1.CoderProvisioner) string {
	if p.Status.Phase != v1alpha1.PhaseReady || p.Status.ObservedGeneration != p.Generation {
		return "not ready"
	}
	return ""
}

// condition checks for a condition's reason.
func condition(kind, reason string) func(*v1alpha1.CoderProvisioner) string {
	return func(p *v1alpha1.CoderProvisioner) string {
		if c := meta.FindStatusCondition(p.Status.Conditions, kind); c == nil || c.Reason != reason {
			return "no " + kind + " of reason " + reason
		}
		return ""
	}
}

func (w *town) change(t *testing.T, name string, change func(*v1alpha1.CoderProvisioner)) {
	t.Helper()
	kubetest.Until(t, wait, func(ctx context.Context) string {
		p := &v1alpha1.CoderProvisioner{}
		must(t, cluster.Client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: name}, p))
		change(p)
		if err := cluster.Client.Update(ctx, p); err != nil {
			return err.Error()
		}
		return ""
	})
}

func (w *town) keys(t *testing.T) []codersdk.ProvisionerKey {
	t.Helper()
	keys, err := w.Client.ProvisionerKeys(t.Context(), "default")
	must(t, err)
	return keys
}

// job has a job wait that asks for tags; its script plays in its plan.
func (w *town) job(t *testing.T, tags map[string]string, script string) codersdk.TemplateVersion {
	t.Helper()
	archive, err := echo.Archive(map[string]string{"plan.jsonl": script})
	must(t, err)
	up, err := w.Client.Upload(t.Context(), "application/x-tar", bytes.NewReader(archive))
	must(t, err)
	v, err := w.Client.CreateTemplateVersion(t.Context(), "default", codersdk.CreateTemplateVersionRequest{FileID: uuid.MustParse(up.Hash), Provisioner: "echo", StorageMethod: "file", Tags: tags})
	must(t, err)
	return v
}

// ends waits for a job's end and gives its status.
func (w *town) ends(t *testing.T, v codersdk.TemplateVersion, want ...codersdk.ProvisionerJobStatus) {
	t.Helper()
	kubetest.Until(t, wait, func(ctx context.Context) string {
		now, err := w.Client.TemplateVersion(ctx, v.ID)
		if err != nil {
			return err.Error()
		}
		for _, s := range want {
			if now.Job.Status == s {
				return ""
			}
		}
		return "the job is " + string(now.Job.Status) + " " + now.Job.Error
	})
}

// TestPool walks a pool through its life: made, at work, other tags under load,
// its Secret lost, ended.
func TestPool(t *testing.T) {
	w := newTown(t)
	w.controlPlane(t)
	w.pool(t, "builders", func(s *v1alpha1.CoderProvisionerSpec) {
		s.Tags, s.Replicas = map[string]string{"zone": "a"}, new(int32(2))
	})
	first := w.become(t, "builders", func(p *v1alpha1.CoderProvisioner) string {
		if d := p.Status.Daemons; d == nil || d.Connected != 2 || d.Slots != 2 {
			return "two provisioners should be connected"
		}
		return ready(p)
	})
	w.ends(t, w.job(t, map[string]string{"zone": "a"}, `{"log":{"output":"x"}}`), codersdk.ProvisionerJobStatusSucceeded)

	long, release := w.longJob(t, map[string]string{"zone": "a"})
	w.change(t, "builders", func(p *v1alpha1.CoderProvisioner) { p.Spec.Tags = map[string]string{"zone": "b"} })
	second := w.become(t, "builders", func(p *v1alpha1.CoderProvisioner) string {
		if p.Status.ProvisionerKeyID == first.Status.ProvisionerKeyID {
			return "the key should be another"
		}
		return ready(p)
	})
	w.ends(t, w.job(t, map[string]string{"zone": "b"}, `{"log":{"output":"x"}}`), codersdk.ProvisionerJobStatusSucceeded)
	if keys := w.keys(t); len(keys) != 2 {
		t.Errorf("while a build runs by the old key there are the keys %+v", keys)
	}
	release()
	w.ends(t, long, codersdk.ProvisionerJobStatusSucceeded)
	kubetest.Until(t, wait, func(context.Context) string {
		if keys := w.keys(t); len(keys) != 1 || keys[0].ID.String() != second.Status.ProvisionerKeyID {
			return fmt.Sprintf("the old key should go, there are %+v", keys)
		}
		return ""
	})

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "builders-provisioner-key", Namespace: w.ns}}
	must(t, cluster.Client.Delete(t.Context(), secret))
	// A round that still had it in hand may put it back; else there is a new key.
	kubetest.Until(t, wait, func(ctx context.Context) string {
		s := &corev1.Secret{}
		if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(secret), s); err != nil {
			return err.Error()
		}
		p := &v1alpha1.CoderProvisioner{}
		must(t, cluster.Client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "builders"}, p))
		if len(s.Data["key"]) == 0 || s.Annotations["coder.com/provisioner-key-id"] != p.Status.ProvisionerKeyID {
			return fmt.Sprintf("the Secret has %v, the status %+v", s.Annotations, p.Status)
		}
		return ready(p)
	})
	w.ends(t, w.job(t, map[string]string{"zone": "b"}, `{"log":{"output":"x"}}`), codersdk.ProvisionerJobStatusSucceeded)

	must(t, cluster.Client.Delete(t.Context(), &v1alpha1.CoderProvisioner{ObjectMeta: metav1.ObjectMeta{Name: "builders", Namespace: w.ns}}))
	kubetest.Until(t, wait, func(ctx context.Context) string {
		if err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "builders"}, &v1alpha1.CoderProvisioner{}); client.IgnoreNotFound(err) != nil || err == nil {
			return "it should be gone"
		}
		if keys := w.keys(t); len(keys) != 0 {
			return fmt.Sprintf("its keys should be gone, there are %+v", keys)
		}
		return ""
	})
}
