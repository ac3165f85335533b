package workspaceapp

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Method is the way in which an app is accessed.
type Method string

// Values of Method, as stored in statistics.
const (
	MethodPath      Method = "path"
	MethodSubdomain Method = "subdomain"
	MethodTerminal  Method = "terminal"
)

// Target is the app or port that a Name refers to. Fields without JSON are not part of passes.
type Target struct {
	WorkspaceID    uuid.UUID `json:"w"`
	OwnerID        uuid.UUID `json:"o"`
	OrganizationID uuid.UUID `json:"-"`
	// AgentID is Nil while the workspace has no agent.
	AgentID       uuid.UUID `json:"a"`
	AgentName     string    `json:"an"`
	WorkspaceName string    `json:"wn"`
	OwnerName     string    `json:"on"`
	// App is the slug of the app, or the port.
	App string `json:"s"`
	// Port is 0 for an app.
	Port int `json:"-"`
	// Title is the display name.
	Title string `json:"n"`
	// URL is the address of the app inside the workspace, "" for an app without one.
	URL   string                            `json:"l"`
	Level codersdk.WorkspaceAppSharingLevel `json:"v"`
	CORS  codersdk.CORSBehavior             `json:"c"`
	// Command runs in a terminal instead of a page.
	Command string `json:"-"`
	// External is true if browsers open URL directly, outside of the workspace.
	External bool                          `json:"-"`
	Health   codersdk.WorkspaceAppHealth   `json:"-"`
	Status   codersdk.WorkspaceStatus      `json:"-"`
	Agent    codersdk.WorkspaceAgentStatus `json:"-"`
	// Running is true if the agent belongs to the current build of the workspace.
	Running bool `json:"-"`

	userACL, groupACL map[string]string
}

// Object is the access object of the app's workspace.
func (t Target) Object() access.Object {
	return access.Object{
		Type: codersdk.RBACResourceWorkspace, ID: t.WorkspaceID, OrganizationID: t.OrganizationID, OwnerID: t.OwnerID,
		UserACL: t.userACL, GroupACL: t.groupACL,
	}
}

// Allows reports whether actor can open the app; the zero value is a client that is not signed in. Users
// who can connect to applications of the workspace always can; a sharing level admits more users. On the
// dashboard's own host sharing levels apply only if the rules allow it, and site owners cannot open apps
// of other users. (NET-06, NET-08)
func (t Target) Allows(actor access.Subject, m Method, r Rules) bool {
	level := t.Level
	if m == MethodPath && !r.PathSharing {
		level = codersdk.WorkspaceAppSharingLevelOwner
	}
	if level == codersdk.WorkspaceAppSharingLevelPublic {
		return true
	}
	if actor.UserID == uuid.Nil {
		return false
	}
	if !actor.TokenPermits(codersdk.RBACActionApplicationConnect, t.Object()) {
		return false
	}
	_, member := actor.OrganizationRoles[t.OrganizationID]
	switch {
	case level == codersdk.WorkspaceAppSharingLevelAuthenticated:
		return true
	case level == codersdk.WorkspaceAppSharingLevelOrganization && member:
		return true
	case m == MethodPath && actor.UserID != t.OwnerID && !r.PathSiteOwners:
		actor.SiteRoles = nil // rights from site roles
	}
	return actor.Can(codersdk.RBACActionApplicationConnect, t.Object())
}

// Find returns the target of a name. The error is NotFound for a missing workspace, agent or app. Find
// does not check access; use Allows.
func (s *Service) Find(ctx context.Context, n Name) (Target, error) {
	w, err := s.c.Store.AppWorkspace(ctx, n.Owner, n.Workspace)
	if err != nil {
		return Target{}, err
	}
	t := Target{
		WorkspaceID: w.ID, OwnerID: w.OwnerID, OrganizationID: w.OrganizationID, WorkspaceName: w.Name, OwnerName: w.OwnerName,
		App: strings.ToLower(n.App), Title: n.App, Level: codersdk.WorkspaceAppSharingLevelOwner, CORS: codersdk.CORSBehavior(w.CorsBehavior),
		Status:  codersdk.NewWorkspaceStatus(codersdk.WorkspaceTransition(w.Transition), codersdk.ProvisionerJobStatus(w.Status)),
		Running: w.Started && w.DormantAt == nil,
		userACL: w.UserACL, groupACL: w.GroupACL,
	}
	if w.StartJobID == uuid.Nil {
		return t, nil // the workspace has never been started
	}
	agents, err := s.c.Store.AppAgents(ctx, w.StartJobID)
	if err != nil {
		return Target{}, err
	}
	if n.Agent != "" {
		agents = only(agents, func(a sqlc.AppAgentsRow) bool { return strings.EqualFold(a.Name, n.Agent) })
	}
	ids := make([]uuid.UUID, len(agents))
	for i, a := range agents {
		ids[i] = a.ID
	}
	apps, err := s.c.Store.AppBySlug(ctx, ids, n.App)
	if err != nil {
		return Target{}, err
	}
	if n.Agent == "" { // agents of dev containers must be named, unless there is no other
		agents = only(agents, func(a sqlc.AppAgentsRow) bool { return a.ParentID == nil || len(apps) == 1 })
		apps = only(apps, func(p sqlc.WorkspaceApp) bool {
			return slices.ContainsFunc(agents, func(a sqlc.AppAgentsRow) bool { return a.ID == p.AgentID })
		})
	}
	port, https, isPort := n.Port()
	switch {
	case len(apps) == 1:
		a := apps[0]
		t.at(s.now(), only(agents, func(g sqlc.AppAgentsRow) bool { return g.ID == a.AgentID })[0])
		t.App, t.Title, t.URL, t.Command, t.External = a.Slug, a.DisplayName, a.URL, a.Command, a.External
		t.Level, t.Health = codersdk.WorkspaceAppSharingLevel(a.SharingLevel), codersdk.WorkspaceAppHealth(a.Health)
		return t, nil
	case isPort && len(agents) == 1:
		t.at(s.now(), agents[0])
		return t, s.findPort(ctx, &t, port, https, codersdk.WorkspaceAgentPortShareLevel(w.MaxPortShareLevel))
	}
	return Target{}, codersdk.NotFound()
}

func only[T any](all []T, keep func(T) bool) (out []T) {
	for _, v := range all {
		if keep(v) {
			out = append(out, v)
		}
	}
	return out
}

// at sets the agent of the target.
func (t *Target) at(now time.Time, a sqlc.AppAgentsRow) {
	t.AgentID, t.AgentName = a.ID, a.Name
	t.Agent = codersdk.AgentStatus(now, codersdk.AgentTimes{
		Created: a.CreatedAt, FirstConnected: a.FirstConnectedAt, LastConnected: a.LastConnectedAt,
		Disconnected: a.DisconnectedAt, ConnectionTimeout: time.Duration(a.ConnectionTimeoutSeconds) * time.Second,
	})
}

// findPort sets the sharing level of a port, up to the limit of the template, and its protocol.
func (s *Service) findPort(ctx context.Context, t *Target, port int, https bool, most codersdk.WorkspaceAgentPortShareLevel) error {
	t.Port, t.Title, t.Health = port, fmt.Sprintf("port %d", port), codersdk.WorkspaceAppHealthDisabled
	share, err := s.c.Store.AppPortShare(ctx, t.WorkspaceID, t.AgentName, int32(port))
	switch {
	case err == nil:
		t.Level = codersdk.WorkspaceAppSharingLevel(codersdk.WorkspaceAgentPortShareLevel(share.ShareLevel).AtMost(most))
		https = https || share.Protocol == string(codersdk.WorkspaceAgentPortShareProtocolHTTPS)
	case !codersdk.Is(err, codersdk.CodeNotFound):
		return err
	}
	u := url.URL{Scheme: "http", Host: "localhost:" + strconv.Itoa(port)}
	if https {
		u.Scheme = "https"
	}
	t.URL = u.String()
	return nil
}
