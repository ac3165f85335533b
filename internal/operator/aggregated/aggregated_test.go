package aggregated_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/operator/aggregated"
	"github.com/seed-2a7f8fe7/coder/internal/operator/controlplane"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
	"github.com/seed-2a7f8fe7/coder/internal/operator/serving"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

var (
	cluster *kubetest.Cluster
	scheme  = runtime.NewScheme()
)

func TestMain(m *testing.M) {
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	os.Exit(kubetest.Main(m, scheme, func(c *kubetest.Cluster) int {
		cluster = c
		code := m.Run()
		whole := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""
		if code != 0 || c.Rest == nil || !whole {
			return code
		}
		unused, err := c.Unused(context.Background(), "coder-aggregated-apiserver", "coder-operator/coder-aggregated-apiserver-certificate")
		if err != nil || len(unused) > 0 {
			fmt.Fprintln(os.Stderr, "deploy/operator/aggregation/rbac.yaml has rights that the server did not use:", err, strings.Join(unused, ", "))
			return 1
		}
		return 0
	}))
}

const wait = 2 * time.Minute

var (
	workspaceResource = schema.GroupVersionResource{Group: "aggregation.coder.com", Version: "v1alpha1", Resource: "coderworkspaces"}
	templateResource  = schema.GroupVersionResource{Group: "aggregation.coder.com", Version: "v1alpha1", Resource: "codertemplates"}
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// api is the aggregated API server of the test process, whose port stays while it
// is started again.
type api struct {
	port int
	stop func()
}

var (
	apiOnce sync.Once
	theAPI  *api
)

// serve starts the server once, for all tests.
func serve(t *testing.T) *api {
	t.Helper()
	cluster.Need(t)
	apiOnce.Do(func() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		theAPI = &api{port: l.Addr().(*net.TCPAddr).Port}
		cluster.Aggregate(t, theAPI.port)
		theAPI.start(t, l)
	})
	return theAPI
}

// start starts the server under the rights that it is deployed with.
func (a *api) start(t *testing.T, l net.Listener) {
	t.Helper()
	var log = slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	config := cluster.AggregatedServer()
	c, err := client.New(config, client.Options{Scheme: scheme})
	must(t, err)
	keeper := serving.New(serving.Config{
		Client: c, Log: log, Namespace: "coder-operator", Service: "coder-aggregated-apiserver",
		Secret: "coder-aggregated-apiserver-certificate", APIService: "v1alpha1.aggregation.coder.com",
	})
	must(t, keeper.RunOnce(t.Context()))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- aggregated.Run(ctx, aggregated.Config{Rest: config, Scheme: scheme, Log: log, Listener: l, Certificate: keeper, Engine: "echo"})
	}()
	a.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error("the server ended:", err)
		}
	}
}

// again ends the server and starts another at the same port.
func (a *api) again(t *testing.T) {
	t.Helper()
	a.stop()
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", a.port))
	must(t, err)
	a.start(t, l)
}

// town is a namespace with a control plane that has a template.
type town struct {
	*servertest.Server
	ns                    string
	workspaces, templates dynamic.ResourceInterface
}

func newTown(t *testing.T) *town {
	serve(t)
	w := &town{ns: cluster.Namespace(t), Server: servertest.Start(t, nil)}
	w.controlPlane(t, w.AccessURL().String())
	w.version(t, "echo", "")
	w.workspaces, w.templates = w.as(t, cluster.Rest, workspaceResource), w.as(t, cluster.Rest, templateResource)
	kubetest.Until(t, wait, func(ctx context.Context) string {
		if _, err := w.workspaces.List(ctx, metav1.ListOptions{}); err != nil {
			return err.Error()
		}
		return ""
	})
	return w
}

// as returns a resource of the namespace to a user.
func (w *town) as(t *testing.T, r *rest.Config, resource schema.GroupVersionResource) dynamic.ResourceInterface {
	t.Helper()
	c, err := dynamic.NewForConfig(r)
	must(t, err)
	return c.Resource(resource).Namespace(w.ns)
}

// controlPlane makes a control plane, as the operator leaves it.
func (w *town) controlPlane(t *testing.T, url string) *v1alpha1.CoderControlPlane {
	t.Helper()
	must(t, cluster.Client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "main-operator-token"}, StringData: map[string]string{"token": w.Client.SessionToken},
	}))
	cp := &v1alpha1.CoderControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: w.ns}}
	must(t, cluster.Client.Create(t.Context(), cp))
	for _, o := range controlplane.Readers(cp, "coder-operator/coder-aggregated-apiserver") {
		must(t, cluster.Client.Create(t.Context(), o))
	}
	cp.Status.URL, cp.Status.OperatorTokenSecretRef = url, &v1alpha1.SecretKeySelector{Name: "main-operator-token", Key: "token"}
	must(t, cluster.Client.Status().Update(t.Context(), cp))
	return cp
}

// version makes a template of echo's files, or a version of it.
func (w *town) version(t *testing.T, name, script string) (codersdk.Template, codersdk.TemplateVersion) {
	t.Helper()
	archive, err := echo.Archive(map[string]string{"apply.jsonl": script, "readme.md": "x"})
	must(t, err)
	up, err := w.Client.Upload(t.Context(), "application/x-tar", bytes.NewReader(archive))
	must(t, err)
	v, err := w.Client.CreateTemplateVersion(t.Context(), "default", codersdk.CreateTemplateVersionRequest{FileID: uuid.MustParse(up.Hash), Provisioner: "echo", StorageMethod: "file"})
	must(t, err)
	kubetest.Until(t, wait, func(ctx context.Context) string {
		if v, err = w.Client.TemplateVersion(ctx, v.ID); err != nil || v.Job.Status != codersdk.ProvisionerJobStatusSucceeded {
			return fmt.Sprint("the import is ", v.Job.Status, " ", v.Job.Error, err)
		}
		return ""
	})
	tpl, err := w.Client.CreateTemplate(t.Context(), "default", codersdk.CreateTemplateRequest{Name: name, TemplateVersionID: v.ID})
	must(t, err)
	return tpl, v
}

func workspace(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "aggregation.coder.com/v1alpha1", "kind": "CoderWorkspace", "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

func text(o *unstructured.Unstructured, path ...string) string {
	v, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...) //nolint:errcheck // absent is ""
	return fmt.Sprint(v)
}

// TestGetAndList shows a workspace that was made elsewhere.
func TestGetAndList(t *testing.T) {
	w := newTown(t)
	ctx := t.Context()
	tpl, err := w.Client.TemplateByName(ctx, "default", "echo")
	must(t, err)
	made, err := w.Client.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "Dev", TemplateID: tpl.ID})
	must(t, err)
	list, err := w.workspaces.List(ctx, metav1.ListOptions{})
	must(t, err)
	if len(list.Items) != 1 || list.Items[0].GetName() != "coder.admin.dev" || string(list.Items[0].GetUID()) != made.ID.String() || list.GetResourceVersion() == "" {
		t.Fatalf("the list is %+v", list)
	}
	got, err := w.workspaces.Get(ctx, "coder.admin.dev", metav1.GetOptions{})
	must(t, err)
	if text(got, "spec", "templateName") != "echo" || text(got, "status", "ownerName") != "admin" || text(got, "status", "organizationName") != "coder" || text(got, "status", "id") != made.ID.String() {
		t.Errorf("it is %v", got.Object)
	}
}

// find reads the control plane as it is.
func (w *town) find(t *testing.T) *v1alpha1.CoderControlPlane {
	t.Helper()
	cp := &v1alpha1.CoderControlPlane{}
	must(t, cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: w.ns, Name: "main"}, cp))
	return cp
}

// raw asks the API server for a path.
func (w *town) raw(t *testing.T, path, accept string) []byte {
	t.Helper()
	h, err := rest.HTTPClientFor(cluster.Rest)
	must(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(cluster.Rest.Host, "/")+path, nil)
	must(t, err)
	req.Header.Set("Accept", accept)
	resp, err := h.Do(req)
	must(t, err)
	defer resp.Body.Close() //nolint:errcheck // it is read
	b, err := io.ReadAll(resp.Body)
	must(t, err)
	return b
}
