// Package kubetest gives tests a real kube-apiserver over a real etcd, with the
// operator's custom resources, and stands in for what the two lack: a Cluster's
// Run plays the controllers and the kubelets that make pods of Deployments.
// `make test-kube` builds the two programs and runs what needs them; without
// them such tests are skipped and say so.
package kubetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"
)

// assets is the variable that names the directory of the two programs.
const assets = "KUBEBUILDER_ASSETS"

// Main runs tests with one API server between them.
func Main(m *testing.M, scheme *runtime.Scheme, run func(*Cluster) int) int {
	if os.Getenv(assets) == "" {
		return run(&Cluster{})
	}
	crlog.SetLogger(logr.FromSlogHandler(slog.DiscardHandler))
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	root, err := root()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	e := &envtest.Environment{
		CRDDirectoryPaths: []string{filepath.Join(root, "deploy", "crd")}, ErrorIfCRDPathMissing: true, Scheme: scheme,
	}
	// The cluster has neither the controller that makes default accounts nor
	// nodes, so nothing waits for them.
	e.ControlPlane.GetAPIServer().Configure().Append("disable-admission-plugins", "ServiceAccount")
	end, err := frontProxy(e)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer end()
	rest, err := e.Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, "start the API server:", err)
		return 1
	}
	defer e.Stop() //nolint:errcheck // the process ends
	rest.QPS = -1  // no bound
	c, err := client.New(rest, client.Options{Scheme: scheme})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	out := &Cluster{Rest: rest, Client: c, used: used{all: map[string]bool{}}}
	if err := out.install(root, "namespace.yaml", "rbac.yaml", "roles.yaml"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return run(out)
}

// install makes what files of deploy/operator have.
func (c *Cluster) install(root string, files ...string) error {
	for _, name := range files {
		f, err := os.Open(filepath.Join(root, "deploy", "operator", name))
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // it was read
		d := yaml.NewYAMLOrJSONDecoder(f, 4096)
		for {
			u := &unstructured.Unstructured{}
			if err := d.Decode(&u.Object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if err := c.Client.Create(context.Background(), u); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// Operator returns the cluster with the operator's own account, which has the
// rights of deploy/operator/rbac.yaml and no others.
func (c *Cluster) Operator() *rest.Config {
	r := rest.CopyConfig(c.Rest)
	r.QPS, r.Burst = 0, 0 // the operator's own
	r.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:coder-operator:coder-operator",
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:coder-operator", "system:authenticated"},
	}
	r.Wrap(c.used.wrap)
	return r
}

// root returns the directory of the module.
func root() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return "", fmt.Errorf("no go.mod above the working directory: %w", os.ErrNotExist)
}

// Cluster is an API server.
type Cluster struct {
	Rest   *rest.Config // nil when there is none
	Client client.Client
	used   used // by operators
}

// Need skips a test when there is no API server.
func (c *Cluster) Need(t testing.TB) {
	t.Helper()
	if c.Rest == nil {
		t.Skipf("needs a kube-apiserver and an etcd: run make test-kube, which sets $%s", assets)
	}
}

// Namespace makes a namespace of the test's own, which admits no pod that the
// restricted Pod Security Standard does not allow.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	c.Need(t)
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: name[:min(len(name), 40)] + "-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := c.Client.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	return n.Name
}

// Until polls check until it returns "". After the timeout the test fails with the
// last text.
func Until(t testing.TB, within time.Duration, check func(ctx context.Context) string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	last := ""
	for {
		now := check(ctx)
		if now == "" {
			return
		}
		if ctx.Err() == nil {
			last = now
		}
		select {
		case <-ctx.Done():
			t.Fatalf("after %s: %s", within, last)
		case <-tick.C:
		}
	}
}
