// Package kubetest runs a real kube-apiserver and etcd for tests, with the custom
// resources of the operator. There is no controller manager and no kubelet: a Node
// simulates the Deployment controller and the kubelet.
//
// `make test-kube` builds the two programs and runs the tests that need them.
// Without the programs, these tests are skipped with a message.
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

// assetsEnv is the environment variable with the directory of the two programs.
const assetsEnv = "KUBEBUILDER_ASSETS"

// Main starts an API server, calls run with it, and returns the exit status of run.
// Without the programs, it calls run with an empty Cluster.
func Main(m *testing.M, scheme *runtime.Scheme, run func(*Cluster) int) int {
	if os.Getenv(assetsEnv) == "" {
		return run(&Cluster{})
	}
	crlog.SetLogger(logr.FromSlogHandler(slog.DiscardHandler))
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	root, err := moduleRoot()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	e := &envtest.Environment{
		CRDDirectoryPaths: []string{filepath.Join(root, "deploy", "crd")}, ErrorIfCRDPathMissing: true, Scheme: scheme,
		ControlPlaneStartTimeout: time.Minute, // the machine may be busy
	}
	// No controller creates the default service accounts, so pods must not wait for
	// them.
	e.ControlPlane.GetAPIServer().Configure().Append("disable-admission-plugins", "ServiceAccount")
	removeFiles, err := configureFrontProxy(e)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer removeFiles()
	rest, err := e.Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, "start the API server:", err)
		return 1
	}
	defer e.Stop() //nolint:errcheck // the process ends
	rest.QPS = -1  // no rate limit
	c, err := client.New(rest, client.Options{Scheme: scheme})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	out := &Cluster{Rest: rest, Client: c, usedRights: usedRights{rights: map[string]bool{}}}
	if err := out.install(root, "namespace.yaml", "rbac.yaml", "roles.yaml"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return run(out)
}

// install creates the objects in files of deploy/operator.
func (c *Cluster) install(root string, files ...string) error {
	for _, name := range files {
		f, err := os.Open(filepath.Join(root, "deploy", "operator", name))
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // the file was only read
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

// Operator returns a client configuration for the service account of the operator,
// which has exactly the rights of deploy/operator/rbac.yaml.
func (c *Cluster) Operator() *rest.Config {
	r := rest.CopyConfig(c.Rest)
	r.QPS, r.Burst = 0, 0 // the defaults, as the operator has them
	r.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:coder-operator:coder-operator",
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:coder-operator", "system:authenticated"},
	}
	r.Wrap(c.usedRights.wrapTransport)
	return r
}

// moduleRoot returns the root directory of the module.
func moduleRoot() (string, error) {
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

// Cluster is a running API server.
type Cluster struct {
	Rest       *rest.Config // nil without an API server
	Client     client.Client
	usedRights usedRights // by Operator and AggregatedServer
}

// Need skips the test if there is no API server.
func (c *Cluster) Need(t testing.TB) {
	t.Helper()
	if c.Rest == nil {
		t.Skipf("needs a kube-apiserver and an etcd: run make test-kube, which sets $%s", assetsEnv)
	}
}

// Namespace creates a namespace for the test and returns its name. The namespace
// enforces the restricted Pod Security Standard.
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

// Until calls check every 50 milliseconds until check returns "". After the timeout,
// the test fails with the last message of check.
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
