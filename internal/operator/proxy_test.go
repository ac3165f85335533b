package operator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/google/uuid"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
)

// registry is the part of a server that knows proxies, as the contract has it.
type registry struct {
	mu      sync.Mutex
	proxies map[string]map[string]any
	tokens  int
}

func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	const root = "/api/v2/workspaceproxies"
	if req.Header.Get("Coder-Session-Token") != "credentials" {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"message":"who are you"}`)
		return
	}
	var body map[string]any
	_ = json.NewDecoder(req.Body).Decode(&body)
	switch req.Method {
	case http.MethodGet:
		list := []any{}
		for _, p := range r.proxies {
			list = append(list, p)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"regions": list})
	case http.MethodPost:
		id := uuid.NewString()
		r.proxies[id] = map[string]any{"id": id, "name": body["name"]}
		r.answer(w, http.StatusCreated, id)
	case http.MethodPatch:
		r.answer(w, http.StatusOK, req.URL.Path[len(root)+1:])
	case http.MethodDelete:
		delete(r.proxies, req.URL.Path[len(root)+1:])
		fmt.Fprint(w, `{"message":"deleted"}`)
	}
}

func (r *registry) answer(w http.ResponseWriter, status int, id string) {
	r.tokens++
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"proxy": r.proxies[id], "proxy_token": fmt.Sprintf("%s:%d", id, r.tokens)})
}

// TestProxy registers a proxy, loses its Secret, and ends it.
func TestProxy(t *testing.T) {
	cluster.Need(t)
	t.Parallel()
	reg := &registry{proxies: map[string]map[string]any{}}
	far := httptest.NewServer(reg)
	defer far.Close()
	w := &town{ns: cluster.Namespace(t), dir: t.TempDir(), far: far.Listener.Addr().String()}
	w.node = &kubetest.Node{Cluster: cluster, Namespace: w.ns}
	w.node.Run(t)
	w.operate(t)
	ctx := t.Context()
	p := &v1alpha1.CoderWorkspaceProxy{ObjectMeta: metav1.ObjectMeta{Name: "lisbon", Namespace: w.ns}}
	p.Spec.Bootstrap = &v1alpha1.ProxyBootstrapSpec{CoderURL: "http://coder.example.com", CredentialsSecretRef: v1alpha1.SecretKeySelector{Name: "admin", Key: "token"}}
	must(t, cluster.Client.Create(ctx, p))
	become := func(reason string) {
		t.Helper()
		kubetest.Until(t, wait, func(ctx context.Context) string {
			must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(p), p))
			if c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionRegistered); c == nil || c.Reason != reason {
				return fmt.Sprintf("no reason %s: %+v", reason, p.Status)
			}
			return ""
		})
	}
	become("NoCredentials")
	must(t, cluster.Client.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "admin", Namespace: w.ns}, StringData: map[string]string{"token": "credentials"}}))
	become("Ready")
	secret := &corev1.Secret{}
	kubetest.Until(t, wait, func(ctx context.Context) string {
		must(t, cluster.Client.Get(ctx, client.ObjectKeyFromObject(p), p))
		if p.Status.Phase != v1alpha1.PhaseReady {
			return fmt.Sprintf("not ready: %+v", p.Status)
		}
		return ""
	})
	d := &appsv1.Deployment{}
	must(t, cluster.Client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "wsproxy-lisbon"}, d))
	must(t, cluster.Client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "lisbon-proxy-token"}, secret))
	first := string(secret.Data["token"])
	if first == "" || p.Status.ProxyID == "" {
		t.Errorf("the token is %q, the proxy %q", first, p.Status.ProxyID)
	}
	must(t, cluster.Client.Delete(ctx, secret))
	kubetest.Until(t, wait, func(ctx context.Context) string {
		s := &corev1.Secret{}
		if err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "lisbon-proxy-token"}, s); err != nil {
			return err.Error()
		}
		if string(s.Data["token"]) == first {
			return "the token should be another"
		}
		return ""
	})
	must(t, cluster.Client.Delete(ctx, p))
	w.gone(t, p)
	reg.mu.Lock()
	defer reg.mu.Unlock()
	if len(reg.proxies) != 0 {
		t.Errorf("proxies are left at the server: %v", reg.proxies)
	}
}
