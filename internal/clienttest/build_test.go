package clienttest

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// workspaceFields returns the fields of a workspace that every client reads.
func workspaceFields(prefix string) []string {
	fields := []string{
		"id uuid", "name text", "owner_name text", "owner_id uuid", "outdated boolean", "template_id uuid", "template_name text",
		"template_display_name string", "template_icon string", "template_active_version_id uuid", "deleting_at time|null", "dormant_at time|null",
		"organization_id uuid", "latest_build object", "latest_build.id uuid", "latest_build.build_number integer", "latest_build.status text",
		"latest_build.deadline time|null|absent", "latest_build.template_version_id uuid", "latest_build.resources array",
		"latest_build.resources[].agents array|null|absent", "latest_build.reason text", "latest_build.transition text",
	}
	for i := range fields {
		fields[i] = prefix + fields[i]
	}
	return fields
}

// workspaceStatuses are the only workspace statuses that typed clients accept.
var workspaceStatuses = []string{"pending", "starting", "running", "stopping", "stopped", "failed", "canceling", "canceled", "deleting", "deleted"}

// agentStatuses are the only values that typed clients accept, by field of an agent.
var agentStatuses = map[string][]string{
	"status":          {"connecting", "connected", "disconnected", "timeout"},
	"lifecycle_state": {"created", "starting", "start_timeout", "start_error", "ready", "shutting_down", "shutdown_timeout", "shutdown_error", "off"},
}

// checkStatuses checks that clients know the statuses of a workspace and its agents.
func (s *session) checkStatuses(workspace any) {
	s.t.Helper()
	if status := textAt(workspace, "latest_build.status"); !slices.Contains(workspaceStatuses, status) {
		s.t.Errorf("clients do not know the status %q", status)
	}
	resources, _ := at(workspace, "latest_build.resources").([]any)
	for _, r := range resources {
		agents, _ := at(r, "agents").([]any)
		for _, a := range agents {
			for field, words := range agentStatuses {
				if !slices.Contains(words, textAt(a, field)) {
					s.t.Errorf("clients do not know the %s %q", field, textAt(a, field))
				}
			}
			checkFields(s.t, a, "id uuid", "name text", "operating_system text", "architecture text", "expanded_directory string",
				"scripts[].start_blocks_login boolean", "apps[].id uuid", "apps[].slug text", "apps[].statuses array", "apps[].command string|absent")
		}
	}
}

// createPlain returns the name of a workspace of the template "plain", which the
// first call for each client creates. If stopped is set, the workspace is stopped.
func (s *session) createPlain(stopped bool) string {
	s.t.Helper()
	name := s.name
	if s.memo["plain"] == "" {
		a := s.send("POST", "/api/v2/users/me/workspaces", map[string]any{"template_id": s.template("plain", "id"), "name": name}).want(http.StatusCreated)
		s.memo["plain"] = textAt(a.json(), "id")
		s.waitBuild(textAt(a.json(), "latest_build.id"))
	}
	if stopped && textAt(s.get("/api/v2/workspaces/"+s.memo["plain"]).want(200).json(), "latest_build.transition") != "stop" {
		s.build(s.memo["plain"], map[string]any{"transition": "stop"})
	}
	return name
}

// createPlainID is like createPlain, but returns the ID of a running workspace.
func (s *session) createPlainID() string { s.t.Helper(); s.createPlain(false); return s.memo["plain"] }

// template returns a field of a template.
func (s *session) template(name, field string) string { return textAt(s.w.templates[name], field) }

// build starts a build and waits until it has succeeded.
func (s *session) build(workspace string, request map[string]any) any {
	s.t.Helper()
	b := s.send("POST", "/api/v2/workspaces/"+workspace+"/builds", request).want(http.StatusCreated).fields(
		"id uuid", "build_number integer", "transition text", "job.id uuid", "job.status text", "template_version_id uuid", "status text", "reason text", "resources array")
	return s.waitBuild(textAt(b, "id"))
}

// waitBuild waits until a build has ended and returns it. The build must succeed.
func (s *session) waitBuild(id string) any {
	s.t.Helper()
	b := s.eventually("/api/v2/workspacebuilds/"+id, func(v any) bool { return ended(textAt(v, "job.status")) })
	if textAt(b, "job.status") != "succeeded" {
		s.t.Fatalf("the build is %s: %s", textAt(b, "job.status"), textAt(b, "job.error"))
	}
	return b
}

func ended(jobStatus string) bool {
	return slices.Contains([]string{"succeeded", "failed", "canceled"}, jobStatus)
}

// eventually repeats a request until good accepts the response, and returns it.
func (s *session) eventually(path string, good func(any) bool) any {
	s.t.Helper()
	v := testwait.Value(s.t, "GET "+path, func() response { return response{s.get(path).want(200).json()} },
		func(r response) bool { return good(r.value) }, testwait.Every(100*time.Millisecond), testwait.Within(waitTimeout))
	return v.value
}

// response is a decoded response, which failure messages show as JSON.
type response struct{ value any }

func (r response) String() string { return shortJSON(r.value) }

// latestBuild returns the newest build of a workspace of the owner.
func (s *session) latestBuild(name string) any {
	s.t.Helper()
	return at(s.get("/api/v2/users/me/workspace/"+name).want(200).json(), "latest_build")
}

// startsWith returns the check of a command line that starts a stopped workspace.
// The build must have the reason. WORKSPACE in args stands for owner/name.
func startsWith(reason string, args ...string) func(*session) {
	return func(s *session) {
		name := s.createPlain(true)
		for i, a := range args {
			args[i] = strings.ReplaceAll(a, "WORKSPACE", owner+"/"+name)
		}
		s.ok(args...)
		b := s.latestBuild(name)
		checkFields(s.t, b, "transition =start", "status =running", "reason ="+reason)
	}
}
