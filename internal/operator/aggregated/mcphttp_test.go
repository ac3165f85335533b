package aggregated_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
	"github.com/seed-2a7f8fe7/coder/internal/operator/mcphttp"
)

// bearer sends requests with a token.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// account returns a token of a new account of the town's namespace that is bound
// to roles there.
func (w *town) account(t *testing.T, name string, roles ...string) string {
	t.Helper()
	ctx := t.Context()
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}}
	must(t, cluster.Client.Create(ctx, sa))
	for _, role := range roles {
		must(t, cluster.Client.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name + "-" + role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: w.ns, Name: name}},
		}))
	}
	request := &authenticationv1.TokenRequest{}
	must(t, cluster.Client.SubResource("token").Create(ctx, sa, request))
	return request.Status.Token
}

// agent connects an MCP client that has a token of the cluster.
func agent(t *testing.T, url, token string) *mcp.ClientSession {
	t.Helper()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}, DisableStandaloneSSE: true,
	}, nil)
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func call(t *testing.T, s *mcp.ClientSession, name string, in map[string]any) (text string, failed bool) {
	t.Helper()
	out, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: in})
	must(t, err)
	for _, c := range out.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	return text, out.IsError
}

// serveMCP starts an MCP server without rights of its own, with some or all tools,
// and returns its URL.
func serveMCP(t *testing.T, allowed ...string) string {
	t.Helper()
	handler, err := mcphttp.Handler(mcphttp.Config{Rest: rest.AnonymousClientConfig(cluster.Rest), Log: slog.New(slog.DiscardHandler), Allowed: allowed})
	must(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL + mcphttp.Path
}

// TestMCP has an MCP client work with workspaces, templates and pools under the
// rights of its account, which the server itself does not have.
func TestMCP(t *testing.T) {
	w := newTown(t)
	url := serveMCP(t)
	type m = map[string]any

	for _, token := range []string{"", "nonsense"} {
		r, err := (&http.Client{Transport: bearer(token)}).Post(url, "application/json", strings.NewReader("{}"))
		must(t, err)
		_ = r.Body.Close()
		if r.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(r.Header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("token %q: status %d", token, r.StatusCode)
		}
	}

	editor := agent(t, url, w.account(t, "editor", "coder-workspaces-edit", "coder-templates-edit"))
	viewer := agent(t, url, w.account(t, "viewer", "coder-workspaces-view"))
	dev := m{"namespace": w.ns, "name": "coder.admin.dev"}
	with := func(more m) m {
		for k, v := range dev {
			if _, set := more[k]; !set {
				more[k] = v
			}
		}
		return more
	}
	pool := &v1alpha1.CoderProvisioner{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "pool"}}
	pool.Spec.ControlPlaneRef.Name = "main"
	must(t, cluster.Client.Create(t.Context(), pool))

	for _, c := range []struct {
		name, tool string
		session    *mcp.ClientSession
		in         m
		failed     bool
		want       string
	}{
		{"who", "coder_get_authenticated_user", editor, m{}, false, "system:serviceaccount:" + w.ns + ":editor"},
		{"templates", "coder_list_templates", viewer, m{"namespace": w.ns}, false, `"name":"coder.echo"`},
		{"create without the right", "coder_create_workspace", viewer, with(m{"template": "echo"}), true, "cannot create resource"},
		{"create", "coder_create_workspace", editor, with(m{"template": "echo"}), false, `"templateName":"echo"`},
		{"create again", "coder_create_workspace", editor, with(m{"template": "echo"}), true, "already exists"},
		{"a page", "coder_list_workspaces", viewer, m{"namespace": w.ns, "limit": 1}, false, `"name":"coder.admin.dev"`},
		{"other namespaces", "coder_list_workspaces", viewer, m{}, true, "at the cluster scope"},
		{"unknown workspace", "coder_get_workspace", viewer, m{"namespace": w.ns, "name": "coder.admin.none"}, true, "not found"},
		{"stop without the right", "coder_create_workspace_build", viewer, with(m{"transition": "stop"}), true, "cannot patch resource"},
		{"unknown transition", "coder_create_workspace_build", editor, with(m{"transition": "pause"}), true, "pause"},
		{"create a template", "coder_create_template", editor, m{"namespace": w.ns, "name": "coder.second", "files": m{"apply.jsonl": "", "readme.md": "x"}}, false, `"name":"coder.second"`},
		{"unknown version", "coder_update_template_active_version", editor, m{"namespace": w.ns, "name": "coder.second", "version_id": "6f1c1f5e-0000-4000-8000-000000000000"}, true, "version"},
		{"change a file", "coder_create_template_version", editor, m{"namespace": w.ns, "name": "coder.second", "files": m{"readme.md": "y"}, "keep_other_files": true}, false, `"versionID":`},
		{"what the change leaves", "coder_get_template", editor, m{"namespace": w.ns, "name": "coder.second"}, false, `"files":{"apply.jsonl":"","readme.md":"y"}`},
		{"replace the files", "coder_create_template_version", editor, m{"namespace": w.ns, "name": "coder.second", "files": m{"apply.jsonl": ""}}, false, `"versionID":`},
		{"what the replacement leaves", "coder_get_template", editor, m{"namespace": w.ns, "name": "coder.second"}, false, `"files":{"apply.jsonl":""}`},
		{"change files without the right", "coder_create_template_version", viewer, m{"namespace": w.ns, "name": "coder.second", "files": m{"a": "b"}}, true, "cannot patch resource"},
		{"deprecate", "coder_set_template_running", editor, m{"namespace": w.ns, "name": "coder.second", "running": false}, false, `"running":false`},
		{"a deprecated template", "coder_get_template", editor, m{"namespace": w.ns, "name": "coder.second"}, false, `"running":false`},
		{"no longer deprecated", "coder_set_template_running", editor, m{"namespace": w.ns, "name": "coder.second", "running": true}, false, `"running":true`},
		{"delete a template", "coder_delete_template", editor, m{"namespace": w.ns, "name": "coder.second"}, false, "deletion"},
		{"pools without the right", "coder_list_provisioner_pools", viewer, m{"namespace": w.ns}, true, "cannot list resource"},
		{"scale without the right", "coder_scale_provisioner_pool", editor, m{"namespace": w.ns, "name": "pool", "replicas": 2}, true, "cannot get resource"},
	} {
		if got, failed := call(t, c.session, c.tool, c.in); failed != c.failed || !strings.Contains(got, c.want) {
			t.Errorf("%s: failed %t: %.500s", c.name, failed, got)
		}
	}

	until := func(tool string, in m, want string) {
		t.Helper()
		kubetest.Until(t, wait, func(context.Context) string {
			if got, _ := call(t, editor, tool, in); !strings.Contains(got, want) {
				return fmt.Sprintf("%s: no %s in %.500s", tool, want, got)
			}
			return ""
		})
	}
	until("coder_get_workspace", dev, `"latestBuildStatus":"running"`)
	if got, failed := call(t, editor, "coder_create_workspace_build", with(m{"transition": "stop"})); failed {
		t.Fatal(got)
	}
	until("coder_get_workspace", dev, `"latestBuildStatus":"stopped"`)
	if got, failed := call(t, editor, "coder_create_workspace_build", with(m{"transition": "delete"})); failed {
		t.Fatal(got)
	}
	until("coder_get_workspace", dev, "not found")

	admin := agent(t, url, w.account(t, "admin", "cluster-admin"))
	if got, failed := call(t, admin, "coder_scale_provisioner_pool", m{"namespace": w.ns, "name": "pool", "replicas": 2}); failed || !strings.Contains(got, `"replicas":2`) {
		t.Error(got)
	}
	pool.Spec.Autoscaling = &v1alpha1.AutoscalingSpec{MaxReplicas: 3}
	pool.ResourceVersion, pool.Spec.Replicas = "", nil
	pool.Name = "scaled"
	must(t, cluster.Client.Create(t.Context(), pool))
	if got, failed := call(t, admin, "coder_scale_provisioner_pool", m{"namespace": w.ns, "name": "scaled", "replicas": 2}); !failed || !strings.Contains(got, "autoscaling") {
		t.Error(got)
	}
	must(t, cluster.Client.Create(t.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "pool.1"}, InvolvedObject: corev1.ObjectReference{Namespace: w.ns, Name: "pool"},
		Type: corev1.EventTypeWarning, Reason: "Refused", Message: "the key is missing",
	}))
	if got, failed := call(t, admin, "coder_list_events", m{"namespace": w.ns, "name": "pool"}); failed || !strings.Contains(got, "the key is missing") {
		t.Error(got)
	}
}
