package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// oneAgent is a template whose workspaces have an agent that nothing runs.
var oneAgent = map[string]string{"graph.jsonl": `{"complete": {"resources": [{"type": "null_resource", "name": "host", "agents": [` +
	`{"id": "a", "name": "main", "operatingSystem": "linux", "architecture": "amd64", "token": "5f2a7e6e-1d55-4c7c-9a31-0b6f7f3c2f10"}]}]}}`}

// TestConnectToAnAgentThatIsGone: an agent that was there says since when it is
// not, and is not waited for without end.
func TestConnectToAnAgentThatIsGone(t *testing.T) {
	h := newHouse(t, nil)
	h.template("plain", oneAgent)
	h.ok("create", "dev", "-t", "plain", "--yes")
	h.sql(`UPDATE workspace_agents SET first_connected_at = now() - interval '2 hours', last_connected_at = now() - interval '1 hour', disconnected_at = now() - interval '1 hour'`)
	patient := h.start("ssh", "dev", "--wait=yes", "--", "true")
	_, errs, status := h.run("ssh", "dev", "--", "true")
	if status == 0 || strings.Count(errs, "disconnected since") != 2 || !strings.Contains(errs, "1h ago") || !strings.Contains(errs, "--wait=yes") {
		t.Errorf("status %d, %s", status, errs)
	}
	h.until("--wait=yes says why it waits", func() bool { return strings.Contains(patient.said(), "disconnected since") })
	select {
	case status := <-patient.done:
		t.Errorf("--wait=yes ended with %d: %s", status, patient.said())
	default:
	}
}

// TestReasonsOfStarts: editors say why they start a workspace, before the name or
// behind it.
func TestReasonsOfStarts(t *testing.T) {
	h := newHouse(t, nil)
	h.template("plain", oneAgent)
	h.ok("create", "dev", "-t", "plain", "--yes")
	for args, want := range map[string]codersdk.BuildReason{
		"start --yes --reason jetbrains_connection -- admin/dev": codersdk.BuildReasonJetbrainsConnection,
		"start --yes admin/dev --reason vscode_connection":       codersdk.BuildReasonVSCodeConnection,
		"start dev --yes --no-wait --reason=dashboard":           codersdk.BuildReasonDashboard,
		"start dev --yes":   codersdk.BuildReasonCLI,
		"restart dev --yes": codersdk.BuildReasonCLI,
	} {
		h.ok("stop", "dev", "--yes")
		h.ok(strings.Fields(args)...)
		w, err := h.Client.WorkspaceByOwnerAndName(t.Context(), "me", "dev", nil)
		h.must(err)
		if b := w.LatestBuild; b.Transition != codersdk.WorkspaceTransitionStart || b.Reason != want {
			t.Errorf("coder %s: a %s for %s", args, b.Transition, b.Reason)
		}
		h.until("the start ends", func() bool {
			w, err := h.Client.Workspace(t.Context(), w.ID, nil)
			h.must(err)
			return w.LatestBuild.Status == codersdk.WorkspaceStatusRunning
		})
	}
	h.ok("stop", "dev", "--yes")
	if _, errs, status := h.run("start", "dev", "--reason", "weather"); status == 0 || !strings.Contains(errs, "weather") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestListsThatProgramsRead holds the JSON of lists to what Mux reads.
func TestListsThatProgramsRead(t *testing.T) {
	f := newFar(t)
	org, version := uuid.New(), uuid.New()
	f.answer("GET /templates", 200, []codersdk.Template{{Name: "docker", DisplayName: "Docker", OrganizationName: "default", ActiveVersionID: version}})
	f.answer("GET /users/me/organizations", 200, []codersdk.Organization{{ID: org, Name: "default", IsDefault: true}})
	f.answer("GET /organizations/"+org.String()+"/templates/docker", 200, codersdk.Template{Name: "docker", ActiveVersionID: version})
	presets := []codersdk.Preset{{ID: uuid.New(), Name: "big", Description: "All of it", Default: true, Parameters: []codersdk.PresetParameter{{Name: "region", Value: "eu"}}}}
	f.answer("GET /templateversions/"+version.String()+"/presets", 200, presets)
	var templates []struct {
		Template struct {
			Name            string `json:"name"`
			DisplayName     string `json:"display_name"`
			Organization    string `json:"organization_name"`
			ActiveVersionID string `json:"active_version_id"`
		}
	}
	out, errs, _ := f.run("", "templates", "list", "--output=json")
	if err := json.Unmarshal([]byte(out), &templates); err != nil || len(templates) != 1 || templates[0].Template.Name != "docker" || templates[0].Template.ActiveVersionID != version.String() {
		t.Errorf("%v: %s%s", err, out, errs)
	}
	var shown []map[string]map[string]any
	out, errs, _ = f.run("", "templates", "presets", "list", "docker", "--output=json", "--org", "default")
	if errs != "" {
		out, errs, _ = f.run("", "templates", "presets", "list", "docker", "--output=json")
	}
	if err := json.Unmarshal([]byte(out), &shown); err != nil || len(shown) != 1 {
		t.Fatalf("%v: %s%s", err, out, errs)
	}
	p := shown[0]["TemplatePreset"]
	if p["Name"] != "big" || p["ID"] != presets[0].ID.String() || p["Default"] != true || p["Description"] != "All of it" {
		t.Errorf("%v", p)
	}
	if out, _, _ = f.run("", "templates", "presets", "list", "docker"); !strings.Contains(out, "region=eu") || !strings.Contains(out, "big") {
		t.Errorf("as a table: %s", out)
	}
}

// TestRedirectsToOtherHosts would send the session token to another server.
func TestRedirectsToOtherHosts(t *testing.T) {
	f := newFar(t)
	other := newFar(t)
	other.answer("GET /users/me", 200, codersdk.User{Username: "ann"})
	at := strings.Replace(other.url, "127.0.0.1", "localhost", 1)
	f.HandleFunc("GET /api/v2/users/me", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, at+r.URL.Path, http.StatusTemporaryRedirect)
	})
	if _, errs, status := f.run("", "whoami"); status == 0 || !strings.Contains(errs, "--allow-redirects") || !strings.Contains(errs, "redirects to "+at) {
		t.Errorf("status %d, %s", status, errs)
	}
	if out, errs, status := f.run("", "--allow-redirects", "whoami"); status != 0 || !strings.Contains(out, "ann") {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	loop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }))
	defer loop.Close()
	if _, errs, status := f.run("", "--url", loop.URL, "whoami"); status == 0 || !strings.Contains(errs, "redirected more than") {
		t.Errorf("status %d, %s", status, errs)
	}
}
