package operator_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// mate is what runs in the pods of a workspace proxy: it registers at the real
// server with the token of its environment, answers the server's check, and says
// good-bye.
type mate struct {
	w       *town
	page    *httptest.Server
	token   string
	replica uuid.UUID
}

func (m *mate) call(path string, body any) error {
	c := codersdk.New(m.w.AccessURL())
	c.HTTP, c.Header = m.w.http(), http.Header{codersdk.ProxyTokenHeader: {m.token}}
	resp, err := c.Request(context.Background(), "POST", "/workspaceproxies/me/"+path, nil, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it is read for its status
	if resp.StatusCode >= 300 {
		return codersdk.ReadError(resp)
	}
	return nil
}

// Stop ends the proxy as SIGTERM does.
func (m *mate) Stop() {
	_ = m.call("deregister", codersdk.DeregisterWorkspaceProxyRequest{ReplicaID: m.replica}) // the server may be gone
	m.page.Close()
}

// proxyTown is a town whose server is real, behind a front that can be closed,
// and in whose pods proxies register.
func proxyTown(t *testing.T) (*town, *httptest.Server) {
	t.Helper()
	cluster.Need(t)
	t.Parallel()
	w := &town{ns: cluster.Namespace(t), dir: t.TempDir()}
	w.Server = servertest.Start(t, func(c *server.Config) { c.Provisioning.Daemons = 0 })
	front := httptest.NewServer(httputil.NewSingleHostReverseProxy(w.AccessURL()))
	t.Cleanup(front.Close)
	w.far = front.Listener.Addr().String()
	w.node = &kubetest.Node{Cluster: cluster, Namespace: w.ns, Start: func(pod *corev1.Pod, env map[string]string) (kubetest.Process, error) {
		m := &mate{w: w, token: env["CODER_PROXY_SESSION_TOKEN"], replica: uuid.New()}
		m.page = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(rw, `{"errors": [], "warnings": []}`) // the server says when not
		}))
		return m, m.call("register", codersdk.RegisterWorkspaceProxyRequest{
			AccessURL: m.page.URL, DERPEnabled: true, ReplicaID: m.replica, ReplicaHostname: pod.Name, Version: "v2.37.0-test",
		})
	}}
	w.node.Run(t)
	w.operate(t)
	must(t, cluster.Client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "admin", Namespace: w.ns}, StringData: map[string]string{"token": w.Client.SessionToken},
	}))
	return w, front
}

func (w *town) proxy(t *testing.T, name string) *v1alpha1.CoderWorkspaceProxy {
	t.Helper()
	p := &v1alpha1.CoderWorkspaceProxy{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.ns}}
	p.Spec.Bootstrap = &v1alpha1.ProxyBootstrapSpec{
		CoderURL: w.AccessURL().String(), DisplayName: "Lisbon", CredentialsSecretRef: v1alpha1.SecretKeySelector{Name: "admin", Key: "token"},
	}
	must(t, cluster.Client.Create(t.Context(), p))
	return p
}

// registered waits until the server is well with the proxy of a resource.
func (w *town) registered(t *testing.T, p *v1alpha1.CoderWorkspaceProxy) {
	t.Helper()
	kubetest.Until(t, wait, func(ctx context.Context) string {
		must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(p), p))
		if p.Status.Phase != v1alpha1.PhaseReady || !p.Status.Registered {
			return fmt.Sprintf("not ready: %+v", p.Status)
		}
		far, err := w.Client.WorkspaceProxy(ctx, p.Status.ProxyID)
		if err != nil {
			return err.Error()
		}
		if far.Name != p.Name || far.DisplayName != "Lisbon" || far.Status.Status != codersdk.ProxyStatusOK {
			return fmt.Sprintf("the server says %+v", far)
		}
		return ""
	})
}

// TestProxyAtTheRealServer makes a proxy, whose pods run with the token; loses
// its Secret, and so gets another token; and ends it, here and there.
func TestProxyAtTheRealServer(t *testing.T) {
	w, _ := proxyTown(t)
	ctx := t.Context()
	p := w.proxy(t, "lisbon")
	w.registered(t, p)
	d := &appsv1.Deployment{}
	must(t, cluster.Client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "wsproxy-lisbon"}, d))
	if args := strings.Join(d.Spec.Template.Spec.Containers[0].Args, " "); !strings.HasPrefix(args, "wsproxy server") {
		t.Errorf("the pods run %s", args)
	}
	before := d.Spec.Template.Annotations["checksum/proxy-token"]
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "lisbon-proxy-token", Namespace: w.ns}}
	must(t, cluster.Client.Delete(ctx, secret))
	kubetest.Until(t, wait, func(ctx context.Context) string {
		must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(d), d))
		if d.Spec.Template.Annotations["checksum/proxy-token"] == before {
			return "the pods still have the old token"
		}
		return ""
	})
	w.registered(t, p)
	all, err := w.Client.WorkspaceProxies(ctx)
	must(t, err)
	if len(all) != 2 {
		t.Errorf("the lost Secret made another proxy: %+v", all)
	}
	must(t, cluster.Client.Delete(ctx, p))
	w.gone(t, p)
	if _, err := w.Client.WorkspaceProxy(ctx, p.Status.ProxyID); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Errorf("the proxy is left at the server: %v", err)
	}
}

// TestProxyOfAnotherIsLeftAlone: a name that somebody else's proxy has is not
// taken over, and the end of the resource takes nothing away.
func TestProxyOfAnotherIsLeftAlone(t *testing.T) {
	w, _ := proxyTown(t)
	theirs, err := w.Client.CreateWorkspaceProxy(t.Context(), codersdk.CreateWorkspaceProxyRequest{Name: "lisbon"})
	must(t, err)
	p := w.proxy(t, "lisbon")
	kubetest.Until(t, wait, func(ctx context.Context) string {
		must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(p), p))
		if c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionRegistered); c == nil || c.Reason != "NameTaken" {
			return fmt.Sprintf("%+v", p.Status)
		}
		return ""
	})
	must(t, cluster.Client.Delete(t.Context(), p))
	w.gone(t, p)
	if _, err := w.Client.WorkspaceProxy(t.Context(), theirs.ID.String()); err != nil {
		t.Error("the proxy of another is gone:", err)
	}
}

// TestProxyOutlivesItsServer: with the server gone the resource ends all the
// same, soon.
func TestProxyOutlivesItsServer(t *testing.T) {
	w, front := proxyTown(t)
	p := w.proxy(t, "lisbon")
	w.registered(t, p)
	front.Close()
	must(t, cluster.Client.Delete(t.Context(), p))
	kubetest.Until(t, 2*time.Minute, func(ctx context.Context) string {
		if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(p), p); client.IgnoreNotFound(err) != nil {
			return err.Error()
		} else if err == nil {
			return "it is still there"
		}
		return ""
	})
}
