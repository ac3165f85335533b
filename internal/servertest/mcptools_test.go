package servertest_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/toolkit"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/tools"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// mcpWorld is a server with a workspace whose agent runs, and another one.
type mcpWorld struct {
	*servertest.Server
	t          *testing.T
	dev, spare codersdk.Workspace
	// others are owners too: requests of one user are limited.
	others []*codersdk.Client
	next   int
}

func newMCPWorld(t *testing.T) *mcpWorld {
	t.Helper()
	s := servertest.Start(t, func(c *server.Config) { c.Network.WildcardAccessURL = "*.apps.example.com" })
	dev, token := agentWorkspace(t, s)
	startAgent(t, s, dev, token)
	public := codersdk.WorkspaceAgentPortShareLevelPublic
	_, err := s.Client.UpdateTemplate(t.Context(), dev.TemplateID, codersdk.UpdateTemplateMeta{MaxPortShareLevel: &public})
	must(t, err)
	spare, err := s.Client.CreateWorkspace(t.Context(), "me", codersdk.CreateWorkspaceRequest{Name: "spare", TemplateID: dev.TemplateID})
	must(t, err)
	w := &mcpWorld{Server: s, t: t, dev: dev, spare: spare}
	for _, name := range []string{"ann", "bob", "cleo"} {
		other, _ := s.Member(t, name, "owner")
		w.others = append(w.others, other)
	}
	w.settle()
	return w
}

// settle waits for the last build of the spare workspace.
func (w *mcpWorld) settle() {
	w.t.Helper()
	now, err := w.Client.Workspace(w.t.Context(), w.spare.ID, nil)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return
	}
	must(w.t, err)
	follow(w.t, w.Client, "/workspacebuilds/"+now.LatestBuild.ID.String()+"/logs")
}

// other returns one of the other owners.
func (w *mcpWorld) other() *codersdk.Client {
	w.next++
	return w.others[w.next%len(w.others)]
}

// token returns a token of a user with these scopes and this allow list.
func (w *mcpWorld) token(c *codersdk.Client, scopes []codersdk.APIKeyScope, allow ...codersdk.APIAllowListTarget) string {
	w.t.Helper()
	if len(scopes) == 0 {
		scopes = []codersdk.APIKeyScope{codersdk.APIKeyScopeCoderAll}
	}
	key, err := c.CreateToken(w.t.Context(), "me", codersdk.CreateTokenRequest{TokenName: uuid.NewString()[:20], Scopes: scopes, AllowList: allow})
	must(w.t, err)
	return key.Key
}

// refusal is in the text of each refused call.
const refusal = "A token with limited scopes needs"

// refused reports whether a tool refuses a token. Lists are empty then.
func (w *mcpWorld) refused(token, tool string, in map[string]any) bool {
	w.t.Helper()
	text, failed := callTool(w.t, mcpSession(w.t, w.Server, token), tool, in)
	switch {
	case failed && !strings.Contains(text, refusal):
		w.t.Errorf("%s: %s", tool, text)
	case !failed && tool == "coder_list_workspaces":
		return strings.Contains(text, `"count":0`)
	case !failed && tool == "coder_list_users": // the user's own account is no secret
		return strings.Contains(text, `"count":1`)
	case !failed && tool == "coder_list_templates":
		return text == "[]"
	case !failed && tool == "search":
		return !strings.Contains(text, `"workspace:`) || !strings.Contains(text, `"template:`)
	}
	return failed
}

// version imports a version of a new template.
func (w *mcpWorld) version(files map[string]string) (file string, v codersdk.TemplateVersion) {
	w.t.Helper()
	archive, err := echo.Archive(files)
	must(w.t, err)
	up, err := w.Client.Upload(w.t.Context(), "application/x-tar", bytes.NewReader(archive))
	must(w.t, err)
	v, err = w.Client.CreateTemplateVersion(w.t.Context(), "default", codersdk.CreateTemplateVersionRequest{
		FileID: uuid.MustParse(up.Hash), Provisioner: "echo", StorageMethod: codersdk.ProvisionerStorageMethodFile,
	})
	must(w.t, err)
	follow(w.t, w.Client, "/templateversions/"+v.ID.String()+"/logs")
	return up.Hash, v
}

// hold creates a workspace whose build goes on until it is canceled.
func (w *mcpWorld) hold() {
	w.t.Helper()
	_, v := w.version(map[string]string{"apply.jsonl": `{"hang": true}` + "\n"})
	template, err := w.Client.CreateTemplate(w.t.Context(), "default", codersdk.CreateTemplateRequest{Name: "hanging", TemplateVersionID: v.ID})
	must(w.t, err)
	_, err = w.Client.CreateWorkspace(w.t.Context(), "me", codersdk.CreateWorkspaceRequest{Name: "held", TemplateID: template.ID})
	must(w.t, err)
}

// mcpCall is a call that must succeed.
type mcpCall struct {
	tool   string
	in     map[string]any
	before func() // nil for nothing
}

// calls are a call of each tool, in this order.
func (w *mcpWorld) calls() []mcpCall {
	w.t.Helper()
	type m = map[string]any
	version := w.dev.LatestBuild.TemplateVersionID.String()
	file, fresh := w.version(map[string]string{"README.md": "# Fresh"})
	return []mcpCall{
		{tool: "coder_get_authenticated_user", in: m{}},
		{tool: "coder_list_users", in: m{}},
		{tool: "coder_get_ssh_key", in: m{}},
		{tool: "coder_regenerate_ssh_key", in: m{}},
		{tool: "coder_list_workspaces", in: m{}},
		{tool: "coder_get_workspace", in: m{"workspace": "admin/dev"}},
		{tool: "coder_list_workspace_builds", in: m{"workspace": "admin/dev"}},
		{tool: "coder_create_workspace", in: m{"name": "made", "template": "echo"}},
		{tool: "coder_stop_workspace", in: m{"workspace": "admin/spare"}},
		{tool: "coder_start_workspace", in: m{"workspace": "admin/spare"}},
		{tool: "coder_create_workspace_build", in: m{"workspace": "admin/spare", "transition": "stop"}},
		{tool: "coder_delete_workspace", in: m{"workspace": "admin/spare"}},
		{tool: "coder_list_templates", in: m{}},
		{tool: "coder_get_template", in: m{"template": "echo"}},
		{tool: "coder_list_template_versions", in: m{"template": w.dev.TemplateID.String()}},
		{tool: "coder_template_version_parameters", in: m{"template_version_id": version}},
		{tool: "coder_update_template_active_version", in: m{"template": "echo", "template_version_id": version}},
		{tool: "coder_upload_tar_file", in: m{"files": m{"main.tf": "# none"}}},
		{tool: "coder_get_workspace_build_logs", in: m{"workspace": "admin/dev"}},
		{tool: "coder_get_workspace_agent_logs", in: m{"workspace": "admin/dev"}},
		{tool: "coder_get_template_version_logs", in: m{"template_version_id": version}},
		{tool: "coder_workspace_bash", in: m{"workspace": "admin/dev", "command": "true"}},
		{tool: "coder_workspace_write_file", in: m{"workspace": "admin/dev", "path": "~/one/note.txt", "content": "first"}},
		{tool: "coder_workspace_edit_file", in: m{"workspace": "admin/dev", "path": "~/one/note.txt", "edits": []m{{"search": "first", "replace": "second"}}}},
		{tool: "coder_workspace_edit_files", in: m{"workspace": "admin/dev", "files": []m{{"path": "~/one/note.txt", "edits": []m{{"search": "second", "replace": "third"}}}}}},
		{tool: "coder_workspace_read_file", in: m{"workspace": "admin/dev", "path": "~/one/note.txt"}},
		{tool: "coder_workspace_ls", in: m{"workspace": "admin/dev", "path": "~/one"}},
		{tool: "coder_workspace_list_ports", in: m{"workspace": "admin/dev"}},
		{tool: "coder_workspace_list_apps", in: m{"workspace": "admin/dev"}},
		{tool: "coder_workspace_share_port", in: m{"workspace": "admin/dev", "port": 8080, "share_level": "authenticated"}},
		{tool: "coder_workspace_unshare_port", in: m{"workspace": "admin/dev", "port": 8080}},
		{tool: "coder_workspace_port_forward", in: m{"workspace": "admin/dev", "port": 8080}},
		{tool: "coder_create_template_version", in: m{"file_id": file}},
		{tool: "coder_create_template", in: m{"name": "fresh", "template_version_id": fresh.ID.String()}},
		{tool: "coder_delete_template", in: m{"template": "fresh"}},
		{tool: "search", in: m{"query": ""}},
		{tool: "fetch", in: m{"id": "workspace:" + w.dev.ID.String()}},
		{tool: "coder_cancel_workspace_build", in: m{"workspace": "admin/held"}, before: w.hold},
	}
}

// TestMCPToolsByScope calls each tool with a token that has exactly the declared
// scopes of the tool, which must do, and with tokens that lack one of them, which
// must be refused.
func TestMCPToolsByScope(t *testing.T) {
	w := newMCPWorld(t)
	byName := map[string]tools.Tool{}
	for _, tool := range tools.All() {
		byName[tool.Name] = tool
	}
	called := 0
	for _, c := range w.calls() {
		tool, ok := byName[c.tool]
		if !ok {
			t.Errorf("%s is not a tool", c.tool)
			continue
		}
		called++
		if c.before != nil {
			c.before()
		}
		for i, missing := range tool.Scopes {
			others := slices.Delete(slices.Clone(tool.Scopes), i, i+1)
			if len(others) == 0 {
				others = []codersdk.APIKeyScope{codersdk.APIKeyScopeCoderApikeysManageSelf}
			}
			if _, optional := optionalScopes[c.tool+" "+string(missing)]; !optional && !w.refused(w.token(w.other(), others), c.tool, c.in) {
				t.Errorf("%s works without the scope %s", c.tool, missing)
			}
		}
		scopes := tool.Scopes
		if len(scopes) == 0 {
			scopes = []codersdk.APIKeyScope{codersdk.APIKeyScopeCoderApikeysManageSelf}
		}
		if w.refused(w.token(w.Client, scopes), c.tool, c.in) {
			t.Errorf("%s is refused with its scopes %v", c.tool, scopes)
		}
		w.settle()
	}
	if called != len(byName) {
		t.Errorf("%d tools are called, of %d", called, len(byName))
	}
}

// optionalScopes are scopes that only some inputs of a tool need.
var optionalScopes = map[string]bool{
	"coder_create_workspace_build template:read":    true,
	"coder_create_workspace_build template:use":     true,
	"coder_create_workspace_build workspace:delete": true,
	"coder_create_workspace_build workspace:start":  true,
	"coder_create_template_version template:update": true,
	"fetch template:read":                           true,
}

// TestMCPToolsByAllowList calls each tool on a workspace that the token's allow
// list leaves out.
func TestMCPToolsByAllowList(t *testing.T) {
	w := newMCPWorld(t)
	only := mcpSession(t, w.Server, w.token(w.Client, nil, codersdk.APIAllowListTarget{Type: codersdk.RBACResourceWorkspace, ID: w.spare.ID.String()}))
	if text, failed := callTool(t, only, "coder_get_workspace", map[string]any{"workspace": "admin/spare"}); failed {
		t.Errorf("the listed workspace: %s", text)
	}
	for _, c := range w.calls() {
		if c.before != nil {
			continue
		}
		if id, ok := c.in["id"]; c.in["workspace"] == nil && !ok {
			continue
		} else if !ok && c.in["workspace"] == "admin/spare" {
			c.in["workspace"] = "admin/dev"
		} else if ok {
			c.in["id"] = id
		}
		if text, failed := callTool(t, only, c.tool, c.in); !failed || !strings.Contains(text, refusal) {
			t.Errorf("%s on a workspace that the allow list leaves out: failed %t: %s", c.tool, failed, text)
		}
	}
	text, _ := callTool(t, only, "coder_list_workspaces", map[string]any{})
	var list struct{ Count int }
	if err := json.Unmarshal([]byte(text), &list); err != nil || list.Count != 1 {
		t.Errorf("the list is %s, %v", text, err)
	}
	if text, failed := callTool(t, only, "coder_create_workspace", map[string]any{"name": "more", "template": "echo"}); !failed {
		t.Errorf("a workspace beyond the allow list was created: %s", text)
	}
}

// TestMCPHints: tools that can delete, overwrite or interrupt are marked, and the
// others are not.
func TestMCPHints(t *testing.T) {
	reads := []string{"_list_", "_get_", "_logs", "_ls", "_read_file", "_port_forward", "_parameters", "search", "fetch"}
	additive := []string{"coder_create_workspace", "coder_start_workspace", "coder_create_template", "coder_create_template_version", "coder_upload_tar_file"}
	for _, tool := range tools.All() {
		want := toolkit.Destructive
		if slices.ContainsFunc(reads, func(part string) bool { return strings.Contains(tool.Name, part) }) {
			want = toolkit.ReadOnly
		} else if slices.Contains(additive, tool.Name) {
			want = toolkit.Additive
		}
		if tool.Effect != want {
			t.Errorf("%s has the effect %d, want %d", tool.Name, tool.Effect, want)
		}
	}
}
