//go:build !race

package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// narrowing is what a token takes away from a site owner.
type narrowing struct {
	name   string
	scopes []codersdk.APIKeyScope
	allow  []string // type:id, ids of the fixture in braces
}

func narrowings() []narrowing {
	all := []codersdk.APIKeyScope{codersdk.APIKeyScopeCoderAll}
	return []narrowing{
		{"reads workspaces", []codersdk.APIKeyScope{"workspace:read"}, []string{"*:*"}},
		{"all of templates", []codersdk.APIKeyScope{"template:*"}, []string{"*:*"}},
		{"operates workspaces", []codersdk.APIKeyScope{codersdk.APIKeyScopeCoderWorkspacesOperate}, []string{"*:*"}},
		{"its own keys", []codersdk.APIKeyScope{codersdk.APIKeyScopeCoderApikeysManageSelf}, []string{"*:*"}},
		{"one workspace", all, []string{"workspace:{workspace}"}},
		{"every template", all, []string{"template:*"}},
		{"another workspace", all, []string{"workspace:{group}"}},
		{"reads one workspace", []codersdk.APIKeyScope{"workspace:read"}, []string{"workspace:{workspace}"}},
	}
}

// narrow returns a user's token scopes and an allow list.
func (m *matrix) narrow(who *person, f fixture, by narrowing) {
	m.t.Helper()
	var scopes, list []string
	who.Scopes, who.AllowList = by.scopes, nil
	for _, s := range by.scopes {
		scopes = append(scopes, string(s))
	}
	for _, a := range by.allow {
		a = f.fill(a)
		kind, id, _ := strings.Cut(a, ":")
		list, who.AllowList = append(list, a), append(who.AllowList, codersdk.APIAllowListTarget{Type: codersdk.RBACResource(kind), ID: id})
	}
	_, err := m.db.Exec(m.t.Context(), `UPDATE api_keys SET scopes = $2, allow_list = $3 WHERE id = $1`, who.KeyID, scopes, list)
	must(m.t, err)
}

// TestMatrixOfTokens asks every route with tokens that narrow a site owner, who
// may do everything otherwise. A token lets nothing through that access says it
// does not; what it lets through by its own action may fail for what a request
// needs besides.
func TestMatrixOfTokens(t *testing.T) {
	m := newMatrix(t)
	table := slices.DeleteFunc(httpapi.EveryRoute(), func(r rest.Route) bool {
		return r.Action == "" || apartFromTable()[r.Method+" "+r.Path] != ""
	})
	for i, by := range narrowings() {
		t.Run(by.name, func(t *testing.T) {
			t.Parallel()
			own := *m
			own.t, own.prefix = t, string(rune('a'+i))
			own.connect()
			through, refused := 0, 0
			for _, r := range table {
				name := r.Method + " " + r.Path
				me := own.person(own.home, roles()[0])
				f := own.things(own.home, me)
				own.narrow(&me, f, by)
				want := me.Can(r.Action, f.object(r, me.UserID))
				got, status, body := own.ask(r, me, f)
				switch {
				case status == http.StatusUnauthorized, status >= 500 && status != http.StatusServiceUnavailable:
					t.Errorf("%s: %d %.200s", name, status, body)
				case got && !want && letThroughMore()[name] == "":
					t.Errorf("%s: let through, access says no: %d %.200s", name, status, body)
				case got && !want && strings.Contains(name, "members") && strings.Count(body, `"user_id"`) != 1:
					t.Errorf("%s: more than oneself is shown: %.200s", name, body)
				case want && !got && needsMore()[name] == "":
					t.Errorf("%s: refused, access says yes: %d %.200s", name, status, body)
				}
				if got {
					through++
				} else {
					refused++
				}
				if r.Method != http.MethodGet {
					own.recorded(name, me, status)
				}
			}
			if refused < len(table)/2 {
				t.Errorf("only %d of %d routes refused the token", refused, len(table))
			}
			t.Logf("%d let through, %d refused", through, refused)
		})
	}
}

// needsMore are routes that need more than their action on their resource, each
// with what.
func needsMore() map[string]string {
	return map[string]string{
		"GET /workspacebuilds/{workspacebuild}/state":                      "the workspace must be seen too",
		"PUT /workspacebuilds/{workspacebuild}/state":                      "the workspace must be seen too",
		"GET /organizations/{organization}/members/{user}/workspace-quota": "the member must be seen too",
		"POST /users/{user}/keys":                                          "no token with limits makes a session, which has none",
	}
}

// letThroughMore are routes that another right opens as well, each with which.
func letThroughMore() map[string]string {
	const (
		jobOf  = "who sees what a job is for sees the job"
		dryRun = "a dry run is of a version, and seen with its template"
		self   = "one's own membership is no secret to oneself, and nobody else's is shown"
		public = "the starters are the same for everybody who is signed in"
	)
	return map[string]string{
		"GET /templates/examples":                                                      public,
		"GET /templates/modules":                                                       public,
		"POST /templates/compose":                                                      public,
		"POST /templates/format":                                                       "it formats the text of the request",
		"GET /templates/summaries":                                                     "templates that the token cannot read are left out",
		"GET /organizations/{organization}/templates/examples":                         public,
		"GET /organizations/{organization}/members":                                    self,
		"GET /organizations/{organization}/paginated-members":                          self,
		"GET /organizations/{organization}/members/{user}":                             self,
		"GET /organizations/{organization}/provisionerjobs/{job}":                      jobOf,
		"GET /organizations/{organization}/provisionerjobs/{job}/explain":              jobOf,
		"GET /templateversions/{templateversion}/dry-run/{jobID}":                      dryRun,
		"GET /templateversions/{templateversion}/dry-run/{jobID}/resources":            dryRun,
		"GET /templateversions/{templateversion}/dry-run/{jobID}/logs":                 dryRun,
		"GET /templateversions/{templateversion}/dry-run/{jobID}/matched-provisioners": dryRun,
		"PATCH /templateversions/{templateversion}/dry-run/{jobID}/cancel":             dryRun,
		"POST /applications/reconnecting-pty-signed-token":                             "an address that is none is refused before anybody looks at rights",
	}
}

// TestWhatTokensMayBeMadeOf: every scope that users are offered permits
// something, and none more than its name says.
func TestWhatTokensMayBeMadeOf(t *testing.T) {
	for _, sc := range access.PublicScopes() {
		s := access.Subject{UserID: uuid.New(), SiteRoles: []string{access.RoleOwner}, Scopes: []codersdk.APIKeyScope{sc}}
		kind, verb, _ := strings.Cut(string(sc), ":")
		some := false
		for t2, actions := range access.Actions {
			for _, a := range actions {
				may := s.Can(a, access.Object{Type: t2})
				some = some || may
				self := t2 == codersdk.RBACResourceOrganization || t2 == codersdk.RBACResourceUser // who one is, always
				if may && kind != "coder" && !(self && a == codersdk.RBACActionRead) && (string(t2) != kind || verb != "*" && verb != string(a)) {
					t.Errorf("%s permits %s on %s", sc, a, t2)
				}
			}
		}
		if !some {
			t.Errorf("%s permits nothing", sc)
		}
	}
}
