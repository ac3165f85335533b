package servertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/hashicorp/yamux"
	"storj.io/drpc/drpcconn"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/mail"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/notification/dispatch"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/smtptest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// sentTo names one notification of one user.
type sentTo struct {
	template uuid.UUID
	user     string
}

// producers is a server whose notifications are collected, with users of all roles.
type producers struct {
	*servertest.Server
	t       *testing.T
	clients map[string]*codersdk.Client
	vendor  *httptest.Server // push service

	mu  sync.Mutex
	got map[sentTo][]map[string]string // labels
}

func newProducers(t *testing.T) *producers {
	p := &producers{t: t, clients: map[string]*codersdk.Client{}, got: map[sentTo][]map[string]string{}}
	hook := httptest.NewServer(http.HandlerFunc(p.receive))
	t.Cleanup(hook.Close)
	p.vendor = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.note(notification.BrowserTest, strings.TrimPrefix(r.URL.Path, "/"), nil)
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(p.vendor.Close)
	post := smtptest.New(t, func(m smtptest.Message) error {
		if strings.Contains(m.Data, "Subject: Your passcode") {
			user, _, _ := strings.Cut(m.To, "@")
			p.note(notification.PasswordReset, user, nil)
		}
		return nil
	})
	p.Server = servertest.Start(t, func(c *server.Config) {
		often(c)
		c.Workspaces.Prebuilds.Backoff = time.Millisecond // one failure follows the other
		c.Workspaces.AutobuildPollInterval = 100 * time.Millisecond
		c.Notifications.Method, c.Notifications.Fetch = "webhook", 100*time.Millisecond
		c.Notifications.WebhookURL, _ = url.Parse(hook.URL)
		c.Notifications.PushServices = []string{strings.TrimPrefix(p.vendor.URL, "http://")}
		c.Sessions.Mail = mail.Config{From: "coder@example.com", Smarthost: post.Address}
	})
	p.clients["admin"] = p.Client
	for name, roles := range map[string][]string{
		"owner2": {access.RoleOwner}, "useradmin": {access.RoleUserAdmin}, "templateadmin": {access.RoleTemplateAdmin}, "orgadmin": nil, "dev": nil, "bystander": nil,
	} {
		p.clients[name], _ = p.Member(t, name, roles...)
	}
	_, err := p.Client.UpdateOrganizationMemberRoles(t.Context(), "default", "orgadmin", codersdk.UpdateRoles{Roles: []string{access.RoleOrganizationAdmin}})
	must(t, err)
	for _, name := range []string{"templateadmin", "orgadmin"} { // they are off by default
		p.call(name, "PUT", "/users/me/notifications/preferences", codersdk.UpdateUserNotificationPreferences{TemplateDisabledMap: map[string]bool{
			notification.WorkspaceCreated.String(): false, notification.WorkspaceUpdated.String(): false,
		}})
	}
	return p
}

func (p *producers) note(template uuid.UUID, user string, labels map[string]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := sentTo{template, user}
	p.got[key] = append(p.got[key], labels)
}

// receive is the receiver of webhooks.
func (p *producers) receive(_ http.ResponseWriter, r *http.Request) {
	var body struct {
		Payload struct {
			Template uuid.UUID         `json:"notification_template_id"`
			Username string            `json:"user_username"`
			Labels   map[string]string `json:"labels"`
		} `json:"payload"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		p.t.Errorf("a webhook: %v", err)
	}
	p.note(body.Payload.Template, body.Payload.Username, body.Payload.Labels)
}

// call sends a request of a user.
func (p *producers) call(user, method, path string, body any) {
	p.t.Helper()
	resp, err := p.clients[user].Request(p.t.Context(), method, path, nil, body)
	must(p.t, err)
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		b, _ := io.ReadAll(resp.Body)
		p.t.Fatalf("%s %s: %s %s", method, path, resp.Status, b)
	}
}

// version imports a version of a template; Nil is for a new template.
func (p *producers) version(template uuid.UUID, files map[string]string) codersdk.TemplateVersion {
	p.t.Helper()
	archive, err := echo.Archive(files)
	must(p.t, err)
	up, err := p.Client.Upload(p.t.Context(), "application/x-tar", bytes.NewReader(archive))
	must(p.t, err)
	v, err := p.Client.CreateTemplateVersion(p.t.Context(), "default", codersdk.CreateTemplateVersionRequest{
		FileID: uuid.MustParse(up.Hash), Provisioner: "echo", StorageMethod: codersdk.ProvisionerStorageMethodFile, TemplateID: template,
	})
	must(p.t, err)
	follow(p.t, p.Client, "/templateversions/"+v.ID.String()+"/logs")
	return v
}

// template creates a template of the same files.
func (p *producers) template(name string, files map[string]string) codersdk.Template {
	p.t.Helper()
	v := p.version(uuid.Nil, files)
	tpl, err := p.Client.CreateTemplate(p.t.Context(), "default", codersdk.CreateTemplateRequest{Name: name, TemplateVersionID: v.ID})
	must(p.t, err)
	return tpl
}

// workspace creates a workspace of the user dev, and waits for its build.
func (p *producers) workspace(name string, tpl codersdk.Template) codersdk.Workspace {
	p.t.Helper()
	w, err := p.clients["dev"].CreateWorkspace(p.t.Context(), "me", codersdk.CreateWorkspaceRequest{Name: name, TemplateID: tpl.ID})
	must(p.t, err)
	return built(p.t, p.Client, w.LatestBuild)
}

// build builds a workspace, and waits for the end.
func (p *producers) build(user string, w codersdk.Workspace, req codersdk.CreateWorkspaceBuildRequest) {
	p.t.Helper()
	b, err := p.clients[user].CreateWorkspaceBuild(p.t.Context(), w.ID, req)
	must(p.t, err)
	follow(p.t, p.Client, "/workspacebuilds/"+b.ID.String()+"/logs")
}

// ended waits for a build of a reason with a status.
func (p *producers) ended(w codersdk.Workspace, reason codersdk.BuildReason, status codersdk.ProvisionerJobStatus) {
	p.t.Helper()
	testwait.Value(p.t, "the automatic build ends", func() codersdk.WorkspaceBuild {
		now, err := p.Client.Workspace(p.t.Context(), w.ID, nil)
		must(p.t, err)
		return now.LatestBuild
	}, func(b codersdk.WorkspaceBuild) bool { return b.Reason == reason && b.Job.Status == status }, testwait.Every(100*time.Millisecond))
}

// produced is one event: what causes it, the users who are notified, and labels that
// the notifications have.
type produced struct {
	template uuid.UUID
	cause    func(*producers)
	to       []string
	labels   map[string]string
}

var (
	templateAdmins = []string{"orgadmin", "templateadmin"}
	userAdmins     = []string{"owner2", "useradmin"}
)

// events are all events, in an order in which they can be caused.
func events() []produced {
	return slices.Concat(workspaceEvents(), automaticEvents(), templateEvents(), prebuildEvents(), userEvents())
}

func workspaceEvents() []produced {
	var tpl codersdk.Template
	var w codersdk.Workspace
	return []produced{
		{notification.WorkspaceCreated, func(p *producers) {
			tpl = p.template("manual", map[string]string{"graph.jsonl": `{"complete": {}}`})
			w = p.workspace("created", tpl)
		}, templateAdmins, map[string]string{"name": "created", "workspace": "created", "template_name": "manual", "initiator": "dev"}},
		{notification.WorkspaceUpdated, func(p *producers) {
			v := p.version(tpl.ID, map[string]string{"graph.jsonl": `{"complete": {}}`, "apply.stop.jsonl": `{"error": "cannot stop"}`})
			p.build("dev", w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart, TemplateVersionID: v.ID})
		}, templateAdmins, map[string]string{"workspace": "created", "initiator": "dev", "organization": "coder"}},
		{notification.WorkspaceBuildFailed, func(p *producers) {
			p.build("dev", w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop})
		}, templateAdmins, map[string]string{"name": "created", "template_name": "manual", "initiator": "dev", "transition": "stop", "error": "apply: cannot stop"}},
		{notification.WorkspaceDeleted, func(p *producers) {
			p.build("admin", w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionDelete})
		}, []string{"dev"}, map[string]string{"name": "created", "reason": "a user deleted it", "initiator": "admin"}},
		{notification.WorkspaceDormant, func(p *producers) {
			w = p.workspace("dormant", tpl)
			_, err := p.Client.UpdateWorkspaceDormancy(p.t.Context(), w.ID, codersdk.UpdateWorkspaceDormancy{Dormant: true})
			must(p.t, err)
		}, []string{"dev"}, map[string]string{"name": "dormant", "initiator": "admin"}},
		{notification.WorkspaceMarkedForDeletion, func(p *producers) {
			day := int64(24 * 3600_000)
			_, err := p.Client.UpdateTemplate(p.t.Context(), tpl.ID, codersdk.UpdateTemplateMeta{TimeTilDormantAutodeleteMS: &day})
			must(p.t, err)
		}, []string{"dev"}, map[string]string{"name": "dormant", "template_name": "manual"}},
	}
}

// automaticEvents are those that the server and the agent cause.
func automaticEvents() []produced {
	var tpl codersdk.Template
	var w codersdk.Workspace
	token := uuid.NewString()
	monitor := func(path string) func(*producers) {
		return func(p *producers) {
			_, err := p.agent(token).UpdateMonitor(p.t.Context(), &agentrpc.MonitorRequest{Path: path, Short: true, Percent: 95})
			must(p.t, err)
		}
	}
	return []produced{
		{notification.WorkspaceOutOfMemory, func(p *producers) {
			tpl = p.template("automatic", map[string]string{
				"graph.jsonl": `{"complete": {}}`,
				"graph.start.jsonl": `{"complete": {"resources": [{"type": "null_resource", "name": "host", "agents": [{"id": "a", "name": "main", "token": "` + token + `", ` +
					`"resourcesMonitoring": {"memory": {"enabled": true, "threshold": 90}, "volumes": [{"path": "/home", "enabled": true, "threshold": 80}]}}]}]}}`,
			})
			w = p.workspace("automatic", tpl)
			monitor("")(p)
		}, []string{"dev"}, map[string]string{"name": "automatic", "threshold": "90%"}},
		{notification.WorkspaceOutOfDisk, monitor("/home"), []string{"dev"}, map[string]string{"name": "automatic", "threshold": "80%", "volume": "/home"}},
		{notification.WorkspaceAutoUpdated, func(p *producers) {
			ctx := p.t.Context()
			v := p.version(tpl.ID, map[string]string{"graph.jsonl": `{"complete": {}}`, "apply.stop.jsonl": `{"error": "cannot stop"}`})
			must(p.t, p.Client.UpdateActiveTemplateVersion(ctx, tpl.ID, codersdk.UpdateActiveTemplateVersion{ID: v.ID}))
			must(p.t, p.clients["dev"].UpdateWorkspaceAutomaticUpdates(ctx, w.ID, codersdk.UpdateWorkspaceAutomaticUpdatesRequest{AutomaticUpdates: codersdk.AutomaticUpdatesAlways}))
			p.build("dev", w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop})
			schedule := "* * * * *"
			must(p.t, p.clients["dev"].UpdateWorkspaceAutostart(ctx, w.ID, codersdk.UpdateWorkspaceAutostartRequest{Schedule: &schedule}))
			sql(p.t, p.Server, `UPDATE workspace_builds SET created_at = now() - interval '1 hour' WHERE workspace_id = $1`, w.ID)
			sql(p.t, p.Server, `UPDATE workspaces SET next_start_at = date_trunc('minute', now()) WHERE id = $1`, w.ID)
			p.ended(w, codersdk.BuildReasonAutostart, codersdk.ProvisionerJobStatusSucceeded)
		}, []string{"dev"}, map[string]string{"name": "automatic", "template_name": "automatic", "initiator": "the server"}},
		{notification.WorkspaceAutobuildFailed, func(p *producers) {
			must(p.t, p.clients["dev"].UpdateWorkspaceAutostart(p.t.Context(), w.ID, codersdk.UpdateWorkspaceAutostartRequest{}))
			sql(p.t, p.Server, `UPDATE workspace_builds SET deadline = now() - interval '1 second' WHERE workspace_id = $1`, w.ID)
			p.ended(w, codersdk.BuildReasonAutostop, codersdk.ProvisionerJobStatusFailed)
		}, []string{"dev"}, map[string]string{"name": "automatic", "transition": "stop", "reason": "autostop", "error": "apply: cannot stop", "initiator": "the server"}},
	}
}

func templateEvents() []produced {
	var tpl codersdk.Template
	return []produced{
		{notification.TemplateImportFailed, func(p *producers) {
			tpl = p.template("short", map[string]string{"graph.jsonl": `{"complete": {}}`})
			p.version(tpl.ID, map[string]string{"plan.jsonl": `{"error": "cannot plan"}`})
		}, templateAdmins, map[string]string{"template_name": "short", "initiator": "admin", "error": "plan: cannot plan"}},
		{notification.TemplateDeprecated, func(p *producers) {
			message := "use another"
			_, err := p.Client.UpdateTemplate(p.t.Context(), tpl.ID, codersdk.UpdateTemplateMeta{DeprecationMessage: &message})
			must(p.t, err)
		}, templateAdmins, map[string]string{"template_name": "short", "message": "use another", "initiator": "admin", "organization": "coder"}},
		{notification.TemplateDeleted, func(p *producers) {
			must(p.t, p.Client.DeleteTemplate(p.t.Context(), tpl.ID))
		}, templateAdmins, map[string]string{"name": "short", "initiator": "admin", "organization": "coder"}},
		{notification.TemplateBuildsFailed, func(p *producers) {
			store, err := postgres.Open(p.t.Context(), postgres.Config{URL: p.PostgresURL})
			must(p.t, err)
			defer store.Close()
			reports := dispatch.New(dispatch.Config{Store: store}) // the server does this every 15 minutes
			must(p.t, reports.Report(p.t.Context()))
			sql(p.t, p.Server, `UPDATE site_settings SET updated_at = now() - interval '8 days' WHERE name = 'failed_builds_report'`)
			must(p.t, reports.Report(p.t.Context()))
		}, templateAdmins, map[string]string{"template_name": "manual"}},
	}
}

func prebuildEvents() []produced {
	preset := `{"complete": {"presets": [{"name": "Big", "prebuild": {"instances": 1}}]}}`
	return []produced{
		{notification.TemplateClaimReplaces, func(p *producers) {
			tpl := p.template("stock", map[string]string{
				"graph.plan.jsonl": preset, "graph.state.jsonl": `{"complete": {}}`,
				"plan.start.jsonl": `{"complete": {"resourceReplacements": [{"resource": "docker_container.main", "paths": ["env", "name"]}]}}`,
			})
			prebuilt(p.t, p.Server, shelved(1))
			v, err := p.Client.TemplateVersion(p.t.Context(), tpl.ActiveVersionID)
			must(p.t, err)
			w, err := p.clients["dev"].CreateWorkspace(p.t.Context(), "me", codersdk.CreateWorkspaceRequest{
				Name: "claimed", TemplateID: tpl.ID, TemplateVersionPresetID: presetOf(p.t, p.Client, v),
			})
			must(p.t, err)
			built(p.t, p.Client, w.LatestBuild)
		}, templateAdmins, map[string]string{"name": "claimed", "workspace_owner_username": "dev", "preset": "Big", "template_name": "stock"}},
		{notification.TemplatePrebuildsFail, func(p *producers) {
			p.template("broken", map[string]string{"graph.plan.jsonl": preset, "apply.start.jsonl": `{"error": "no room"}`})
		}, templateAdmins, map[string]string{"template_name": "broken", "preset": "Big", "failures": "3"}},
	}
}

func userEvents() []produced {
	anon := func(p *producers) *codersdk.Client { return codersdk.New(p.AccessURL()) }
	return []produced{
		{notification.UserCreated, func(p *producers) { p.Member(p.t, "guest") }, userAdmins, map[string]string{"name": "guest", "account_username": "guest", "initiator": "admin"}},
		{notification.UserSuspended, func(p *producers) {
			_, err := p.Client.SuspendUser(p.t.Context(), "guest")
			must(p.t, err)
		}, userAdmins, map[string]string{"account_username": "guest", "account_email": "guest@example.com", "initiator": "admin"}},
		{notification.YourAccountSuspended, func(*producers) {}, []string{"guest"}, map[string]string{"account_username": "guest", "initiator": "admin"}},
		{notification.UserActivated, func(p *producers) {
			_, err := p.Client.ActivateUser(p.t.Context(), "guest")
			must(p.t, err)
		}, userAdmins, map[string]string{"account_username": "guest", "initiator": "admin"}},
		{notification.YourAccountActivated, func(*producers) {}, []string{"guest"}, map[string]string{"account_username": "guest", "initiator": "admin"}},
		{notification.UserDeleted, func(p *producers) {
			p.Member(p.t, "leaver")
			must(p.t, p.Client.DeleteUser(p.t.Context(), "leaver"))
		}, userAdmins, map[string]string{"name": "leaver", "account_username": "leaver", "initiator": "admin"}},
		{notification.PasswordReset, func(p *producers) {
			must(p.t, anon(p).RequestOneTimePasscode(p.t.Context(), codersdk.RequestOneTimePasscodeRequest{Email: "dev@example.com"}))
		}, []string{"dev"}, nil},
		{notification.Test, func(p *producers) { must(p.t, p.Client.PostTestNotification(p.t.Context())) }, []string{"admin"}, nil},
		{notification.Custom, func(p *producers) {
			must(p.t, p.clients["dev"].PostCustomNotification(p.t.Context(), codersdk.CustomNotificationRequest{
				Content: &codersdk.CustomNotificationContent{Title: "Tests passed", Message: "All."},
			}))
		}, []string{"dev"}, map[string]string{"custom_title": "Tests passed", "custom_message": "All."}},
		{notification.BrowserTest, func(p *producers) { // of a user with no other notifications
			p.call("bystander", "POST", "/users/me/webpush/subscription", codersdk.WebpushSubscription{
				Endpoint: p.vendor.URL + "/bystander", P256dhKey: browserKey, AuthKey: browserSecret,
			})
			p.call("bystander", "POST", "/users/me/webpush/test", nil)
		}, []string{"bystander"}, nil},
	}
}

// agent returns a connection of an agent to the server.
func (p *producers) agent(token string) agentrpc.DRPCAgentClient {
	p.t.Helper()
	c := codersdk.New(p.AccessURL())
	c.SessionToken = token
	ws, err := c.Dial(p.t.Context(), "/workspaceagents/me/rpc", nil)
	must(p.t, err)
	conf := yamux.DefaultConfig()
	conf.LogOutput = io.Discard
	session, err := yamux.Client(websocket.NetConn(context.Background(), ws, websocket.MessageBinary), conf)
	must(p.t, err)
	p.t.Cleanup(func() { session.Close(); ws.CloseNow() }) //nolint:errcheck // the test is over
	stream, err := session.OpenStream()
	must(p.t, err)
	return agentrpc.NewDRPCAgentClient(drpcconn.New(stream))
}

// missing returns what of an event was not sent.
func (p *producers) missing(e produced) (out []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, _ := notification.ByID(e.template)
	for _, user := range e.to {
		got := p.got[sentTo{e.template, user}]
		if !slices.ContainsFunc(got, func(labels map[string]string) bool {
			for k, v := range e.labels {
				if labels[k] != v {
					return false
				}
			}
			return true
		}) {
			out = append(out, fmt.Sprintf("%q to %s with %v; got %v", t.Name, user, e.labels, got))
		}
	}
	return out
}

// TestEveryEventIsProduced has users, the server and an agent cause every event, and
// checks the recipients and the labels.
func TestEveryEventIsProduced(t *testing.T) {
	all := events()
	for _, template := range notification.All() {
		if !slices.ContainsFunc(all, func(e produced) bool { return e.template == template.ID }) {
			t.Errorf("nothing in this test causes %q", template.Name)
		}
	}
	p := newProducers(t)
	for _, e := range all {
		e.cause(p)
	}
	missing := func() (out []string) {
		for _, e := range all {
			out = append(out, p.missing(e)...)
		}
		return out
	}
	testwait.Until(t, "every event is sent", func() bool { return len(missing()) == 0 },
		testwait.Every(100*time.Millisecond), testwait.Showing(func() string { return "missing:\n" + strings.Join(missing(), "\n") }))
	testwait.Value(t, "the queue is empty", func() codersdk.NotificationStatus {
		status, err := p.Client.NotificationQueue(t.Context())
		must(t, err)
		return status
	}, func(s codersdk.NotificationStatus) bool { return s.WaitingEvents+s.WaitingMessages == 0 }, testwait.Every(200*time.Millisecond))
	p.mu.Lock()
	defer p.mu.Unlock()
	for got, labels := range maps.All(p.got) {
		if !slices.ContainsFunc(all, func(e produced) bool { return e.template == got.template && slices.Contains(e.to, got.user) }) {
			template, _ := notification.ByID(got.template)
			t.Errorf("%q was sent to %s with %v", template.Name, got.user, labels)
		}
	}
}
