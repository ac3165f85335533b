package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// far is a server that answers what a test tells it to, over a real socket.
type far struct {
	*http.ServeMux
	t   *testing.T
	url string
	dir string
}

func newFar(t *testing.T) *far {
	t.Helper()
	f := &far{ServeMux: http.NewServeMux(), t: t, dir: t.TempDir()}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	f.url = s.URL
	return f
}

// answer lets a pattern below /api/v2 be answered with v.
func (f *far) answer(pattern string, status int, v any) {
	method, path, _ := strings.Cut(pattern, " ")
	f.HandleFunc(method+" /api/v2"+path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(v) //nolint:errcheck // the client sees it
	})
}

// run runs a command against the server and gives its output and status.
func (f *far) run(stdin string, args ...string) (stdout, stderr string, status int) {
	var out, errs strings.Builder
	env := []string{"HOME=" + f.dir, "CODER_URL=" + f.url, "CODER_SESSION_TOKEN=id-secret", "TZ=UTC", "NO_COLOR=1", "CI=1"}
	status = Main(context.Background(), append([]string{"coder"}, args...), strings.NewReader(stdin), &out, &errs, env)
	return out.String(), errs.String(), status
}

func TestTheFirstLoginMakesTheFirstUserAndKeepsTheSessionToItself(t *testing.T) {
	f := newFar(t)
	f.answer("GET /users/first", 404, codersdk.Response{Message: "none"})
	f.answer("POST /users/first", 201, codersdk.CreateFirstUserResponse{})
	f.answer("POST /users/login", 201, codersdk.LoginWithPasswordResponse{SessionToken: "first-session"})
	f.answer("GET /users/me", 200, codersdk.User{Username: "admin"})
	out, errs, status := f.run("admin\nadmin@example.com\nSecret-123\nSecret-123\n", "login", f.url, "--force-tty")
	if status != 0 || !strings.Contains(out, "as admin") {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	file := filepath.Join(f.dir, ".config/coderv2/session")
	b, err := os.ReadFile(file)
	if err != nil || string(b) != "first-session" {
		t.Errorf("the session is %q, %v", b, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the session's mode is %v, %v", info.Mode(), err)
	}
	if _, errs, status := f.run("", "login", f.url); status != 1 || !strings.Contains(errs, "--first-user-username") {
		t.Errorf("without a terminal: status %d, %s", status, errs)
	}
}

func TestAFailureOfTheServerIsOneLine(t *testing.T) {
	f := newFar(t)
	f.answer("GET /users/me", 401, codersdk.Response{Message: "Your session has ended"})
	f.answer("GET /templates", 500, codersdk.Response{Message: "Internal error", Detail: "request 17"})
	if _, errs, status := f.run("", "whoami"); status != 1 || errs != "error: Your session has ended\n  Sign in with 'coder login'.\n" {
		t.Errorf("status %d, %q", status, errs)
	}
	if _, errs, status := f.run("", "templates", "list"); status != 1 || errs != "error: Internal error: request 17\n" {
		t.Errorf("status %d, %q", status, errs)
	}
}

func TestAnotherVersionOfTheServerIsToldOnce(t *testing.T) {
	f := newFar(t)
	f.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Coder-Build-Version", "v99.1.0")
		w.Write([]byte("{}")) //nolint:errcheck // the client sees it
	})
	if _, errs, _ := f.run("", "whoami"); strings.Count(errs, "v99.1.0") != 1 {
		t.Errorf("%q", errs)
	}
	if _, errs, _ := f.run("", "whoami", "--no-version-warning"); errs != "" {
		t.Errorf("%q", errs)
	}
}

func TestTablesLineUp(t *testing.T) {
	f := newFar(t)
	at := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	ttl := int64(8 * 3600 * 1000)
	w := func(name, template string, status codersdk.WorkspaceStatus) codersdk.Workspace {
		return codersdk.Workspace{OwnerName: "alice", Name: name, TemplateName: template, TTLMS: &ttl,
			LatestBuild: codersdk.WorkspaceBuild{Status: status, CreatedAt: at, TemplateVersionName: "v1"}}
	}
	f.answer("GET /workspaces", 200, codersdk.WorkspacesResponse{Count: 2, Workspaces: []codersdk.Workspace{
		w("dev", "docker", codersdk.WorkspaceStatusRunning), w("a-longer-name", "übung", codersdk.WorkspaceStatusStopped),
	}})
	out, errs, status := f.run("", "list", "-c", "workspace,template,status,stops after")
	want := `WORKSPACE            TEMPLATE  STATUS   STOPS AFTER
alice/dev            docker    Running  8h
alice/a-longer-name  übung     Stopped  8h
`
	if status != 0 || out != want {
		t.Errorf("status %d, %s\ngot\n%swant\n%s", status, errs, out, want)
	}
	out, _, _ = f.run("", "list", "-o", "json")
	var rows []codersdk.Workspace
	if err := json.Unmarshal([]byte(out), &rows); err != nil || len(rows) != 2 || rows[1].Name != "a-longer-name" {
		t.Errorf("JSON: %v, %s", err, out)
	}
}

// creating serves a template with the given parameters, and takes workspaces.
func creating(f *far, defs []codersdk.TemplateVersionParameter, job codersdk.ProvisionerJob) *codersdk.CreateWorkspaceRequest {
	org, template := uuid.New(), codersdk.Template{ID: uuid.New(), Name: "docker", ActiveVersionID: uuid.New()}
	build := codersdk.WorkspaceBuild{ID: uuid.New(), WorkspaceName: "dev", Transition: codersdk.WorkspaceTransitionStart, Job: job}
	f.answer("GET /users/me/organizations", 200, []codersdk.Organization{{ID: org, Name: "default", IsDefault: true}})
	f.answer("GET /organizations/"+org.String()+"/templates/docker", 200, template)
	f.answer("GET /users/me/workspace/dev", 404, codersdk.Response{Message: "none"})
	f.answer("GET /templateversions/"+template.ActiveVersionID.String()+"/rich-parameters", 200, defs)
	f.answer("GET /templateversions/"+template.ActiveVersionID.String()+"/presets", 200, []codersdk.Preset{})
	f.answer("GET /workspacebuilds/"+build.ID.String(), 200, build)
	var got codersdk.CreateWorkspaceRequest
	f.HandleFunc("POST /api/v2/users/me/workspaces", func(w http.ResponseWriter, r *http.Request) {
		json.NewDecoder(r.Body).Decode(&got) //nolint:errcheck // the test compares
		w.WriteHeader(http.StatusCreated)
		json.NewEncoder(w).Encode(codersdk.Workspace{Name: "dev", LatestBuild: build}) //nolint:errcheck // the client sees it
	})
	f.HandleFunc("GET /api/v2/workspacebuilds/"+build.ID.String()+"/logs", func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		at := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
		for i, l := range []codersdk.ProvisionerJobLog{{Stage: "Planning", Output: "thinking"}, {Stage: "Applying", Output: "doing"}, {Stage: "Applying", Output: "hidden", LogLevel: codersdk.LogLevelDebug}} {
			l.ID, l.CreatedAt = int64(i+1), at.Add(time.Duration(i)*1500*time.Millisecond)
			wsjson.Write(r.Context(), c, l) //nolint:errcheck // the client sees it
		}
		c.Close(websocket.StatusNormalClosure, "") //nolint:errcheck // the client sees it
	})
	return &got
}

func TestCreateShowsTheBuildAndAsksForNothingThatHasADefault(t *testing.T) {
	f := newFar(t)
	done := time.Date(2026, 11, 21, 4, 0, 10, 0, time.UTC)
	got := creating(f, []codersdk.TemplateVersionParameter{
		{Name: "size", Type: "number", DefaultValue: "1"}, {Name: "region", Type: "string", Required: true},
	}, codersdk.ProvisionerJob{Status: codersdk.ProvisionerJobStatusSucceeded, CompletedAt: &done})
	_, errs, status := f.run("", "create", "dev", "-t", "docker", "--yes", "--parameter", "region=eu,us")
	if status != 1 || !strings.Contains(errs, "--parameter \"us\" must be key=value") {
		t.Errorf("a value that CSV splits: status %d, %s", status, errs)
	}
	out, errs, status := f.run("", "create", "dev", "-t", "docker", "--yes", "--parameter", "region=eu", "--start-at", "9AM Mon-Fri UTC", "--stop-after", "8h")
	if status != 0 || !strings.Contains(out, "coder ssh dev") {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	for _, want := range []string{"==> Planning\n    thinking\n    done in 1.5s\n", "==> Applying\n    doing\n    done in 8.5s\n"} {
		if !strings.Contains(errs, want) {
			t.Errorf("the log lacks %q:\n%s", want, errs)
		}
	}
	if strings.Contains(errs, "hidden") {
		t.Error("debug lines are shown without --verbose")
	}
	if len(got.RichParameterValues) != 1 || got.RichParameterValues[0].Value != "eu" || *got.TTLMS != 8*3600*1000 || *got.AutostartSchedule != "CRON_TZ=UTC 0 9 * * 1-5" {
		t.Errorf("the request is %+v", got)
	}
}

func TestCreateAsksAtATerminalAndChecksAsTyped(t *testing.T) {
	f := newFar(t)
	low := int32(1)
	got := creating(f, []codersdk.TemplateVersionParameter{
		{Name: "size", Type: "number", Required: true, ValidationMin: &low},
		{Name: "region", Type: "string", DefaultValue: "eu", Options: []codersdk.TemplateVersionParameterOption{{Name: "Europe", Value: "eu"}, {Name: "America", Value: "us"}}},
		{Name: "debug", Type: "bool", DefaultValue: "false"},
		{Name: "tools", Type: "list(string)", DefaultValue: "[]"},
		{Name: "once", Type: "string", Ephemeral: true},
	}, codersdk.ProvisionerJob{Status: codersdk.ProvisionerJobStatusFailed, Error: "no more machines"})
	_, errs, status := f.run("0\n3\n2\ntrue\ngit,go\nyes\n", "create", "dev", "-t", "docker", "--force-tty")
	if status != 1 || !strings.Contains(errs, "no more machines") || !strings.Contains(errs, "less than 1") {
		t.Errorf("status %d\n%s", status, errs)
	}
	want := []codersdk.WorkspaceBuildParameter{{Name: "size", Value: "3"}, {Name: "region", Value: "us"}, {Name: "debug", Value: "true"}, {Name: "tools", Value: `["git","go"]`}}
	if len(got.RichParameterValues) != len(want) {
		t.Fatalf("got %+v", got.RichParameterValues)
	}
	for i, w := range want {
		if got.RichParameterValues[i] != w {
			t.Errorf("got %+v, want %+v", got.RichParameterValues[i], w)
		}
	}
	if _, errs, status := f.run("", "create", "dev", "-t", "docker", "--yes"); status != 1 || !strings.Contains(errs, "--parameter size=<value>") {
		t.Errorf("without a terminal: status %d, %s", status, errs)
	}
}
