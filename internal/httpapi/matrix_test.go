package httpapi

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/connection"
	"github.com/seed-2a7f8fe7/coder/internal/deployment"
	"github.com/seed-2a7f8fe7/coder/internal/health"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/externalauthapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/galleryapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/insightapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/mirrorapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/notificationapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/oauth2api"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/orgruleapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/planaheadapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/scimapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/serviceaccountapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/supportapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/usersecretapi"
	"github.com/seed-2a7f8fe7/coder/internal/insight"
	"github.com/seed-2a7f8fe7/coder/internal/login"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
	"github.com/seed-2a7f8fe7/coder/internal/prebuild"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/proxy"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/template"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestMatrix prints, for every route and role, what its action is allowed on:
// A anything, O only what is one's own, - nothing. The roles are those of a
// member of the organization that the object is in; a template is open to
// everyone in it.
func TestMatrix(t *testing.T) {
	const golden = "testdata/matrix.golden"
	org, me, other := uuid.New(), uuid.New(), uuid.New()
	columns := []struct {
		name        string
		site, inOrg []string
	}{
		{"owner", []string{access.RoleOwner}, nil},
		{"t-admin", []string{access.RoleTemplateAdmin}, nil},
		{"u-admin", []string{access.RoleUserAdmin}, nil},
		{"auditor", []string{access.RoleAuditor}, nil},
		{"member", nil, nil},
		{"o-admin", nil, []string{access.RoleOrganizationAdmin}},
		{"o-audit", nil, []string{access.RoleOrganizationAuditor}},
		{"o-tmpl", nil, []string{access.RoleOrganizationTemplateAdmin}},
		{"o-user", nil, []string{access.RoleOrganizationUserAdmin}},
		{"o-ban", nil, []string{access.RoleOrganizationCreationBan}},
	}
	var lines []string
	for _, r := range everyRoute() {
		need := "any user"
		switch {
		case r.Auth == rest.AuthPublic:
			need = "public"
		case r.Auth == rest.AuthAgent:
			need = "agent"
		case r.Auth == rest.AuthSelf:
			need = "own check"
		case r.Action != "":
			need = string(r.Resource) + ":" + string(r.Action)
		}
		line := fmt.Sprintf("%-6s %-74s %-30s", r.Method, r.Path, need)
		for _, c := range columns {
			cell := "."
			if r.Action != "" {
				s := access.Subject{UserID: me, SiteRoles: c.site, OrganizationRoles: map[uuid.UUID][]string{org: c.inOrg}}
				cell = verdict(s, r, org, me, other)
			}
			line += fmt.Sprintf(" %-7s", cell)
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	slices.Sort(lines)
	head := fmt.Sprintf("%-6s %-74s %-30s", "", "", "")
	for _, c := range columns {
		head += fmt.Sprintf(" %-7s", c.name)
	}
	got := strings.TrimRight(head, " ") + "\n" + strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the matrix of routes and roles changed; look at it, then run this test with -update\n%s", firstDifference(string(want), got))
	}
}

// EveryRoute is everyRoute for tests of the live server.
func EveryRoute() []rest.Route { return everyRoute() }

// everyRoute returns the whole table, of an API that can answer nothing.
func everyRoute() []rest.Route {
	return New(Config{Routes: slices.Concat((&notificationapi.API{}).Routes(), externalauthapi.Routes(externalauthapi.Config{}), (&oauth2api.API{}).Routes(), serviceaccountapi.Routes(nil), (&scimapi.API{}).Routes(), (&orgruleapi.API{}).Routes(), supportapi.New(supportapi.Config{}).Routes(), insightapi.Routes(nil), (&usersecretapi.API{}).Routes(), (&galleryapi.API{}).Routes(), (&mirrorapi.API{}).Routes(), (&planaheadapi.API{}).Routes()), Site: &deployment.Service{}, Health: &health.Service{}, Insights: &insight.Service{}, Prebuilds: &prebuild.Service{}, Login: &login.Service{}, Connections: &connection.Service{}, Organizations: &organization.Service{}, Workspaces: &workspace.Service{}, Templates: &template.Service{}, Presence: &presence.Service{}, Queue: &queue.Service{}, Apps: &workspaceapp.Service{}, Proxies: &proxy.Service{}, Hub: &notify.Hub{}}).Routes()
}

func verdict(s access.Subject, r rest.Route, org, me, other uuid.UUID) string {
	o := access.Object{Type: r.Resource, OrganizationID: org, OwnerID: other}
	if r.Resource == codersdk.RBACResourceTemplate {
		o.GroupACL = map[string]string{org.String(): "use"}
	}
	if s.Can(r.Action, o) {
		return "A"
	}
	o.OwnerID = me
	if s.Can(r.Action, o) {
		return "O"
	}
	return "-"
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		a, b := "", ""
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return "- " + a + "\n+ " + b
		}
	}
	return ""
}
