package app

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Method is how an app is reached.
type Method string

// Values of Method, as statistics have them.
const (
	MethodPath      Method = "path"
	MethodSubdomain Method = "subdomain"
	MethodTerminal  Method = "terminal"
)

// Target is where a Name leads. What has no JSON is left out of passes.
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
	// Port is not 0 when it is a port and no app.
	Port int `json:"-"`
	// Title is what people call it.
	Title string `json:"n"`
	// URL is the app as seen from the workspace, "" for one without.
	URL   string                         `json:"l"`
	Level coder.WorkspaceAppSharingLevel `json:"v"`
	CORS  coder.CORSBehavior             `json:"c"`
	// Command is what runs in a terminal instead of a page.
	Command string `json:"-"`
	// External says that URL is not in the workspace: browsers go there by themselves.
	External bool                       `json:"-"`
	Health   coder.WorkspaceAppHealth   `json:"-"`
	Status   coder.WorkspaceStatus      `json:"-"`
	Agent    coder.WorkspaceAgentStatus `json:"-"`
	// Running says that the agent belongs to the workspace as it is now.
	Running bool `json:"-"`

	userACL, groupACL map[string]string
}

// Object is the workspace of the app, for access.
func (t Target) Object() access.Object {
	return access.Object{
		Type: coder.RBACResourceWorkspace, ID: t.WorkspaceID, OrganizationID: t.OrganizationID, OwnerID: t.OwnerID,
		UserACL: t.userACL, GroupACL: t.groupACL,
	}
}

// Allows says whether actor, whose zero value is somebody who is not signed in,
// may open the app. Whoever may connect to applications of the workspace may
// always; a level beyond that lets in more. On the dashboard's own host levels
// count only where the rules say so, and owners of the site are kept out of
// what is others'. (NET-06, NET-08)
func (t Target) Allows(actor access.Subject, m Method, r Rules) bool {
	level := t.Level
	if m == MethodPath && !r.PathSharing {
		level = coder.WorkspaceAppSharingLevelOwner
	}
	if level == coder.WorkspaceAppSharingLevelPublic {
		return true
	}
	if actor.UserID == uuid.Nil {
		return false
	}
	if !actor.TokenPermits(coder.RBACActionApplicationConnect, t.Object()) {
		return false
	}
	_, member := actor.OrganizationRoles[t.OrganizationID]
	switch {
	case level == coder.WorkspaceAppSharingLevelAuthenticated:
		return true
	case level == coder.WorkspaceAppSharingLevelOrganization && member:
		return true
	case m == MethodPath && actor.UserID != t.OwnerID && !r.PathSiteOwners:
		actor.SiteRoles = nil // what only a role on the site permits
	}
	return actor.Can(coder.RBACActionApplicationConnect, t.Object())
}

// Find says where a name leads. The error is NotFound for a workspace, agent or
// app that is not there; who may know of what is there is asked of Allows.
func (s *Service) Find(ctx context.Context, n Name) (Target, error) {
	w, err := s.c.Store.AppWorkspace(ctx, n.Owner, n.Workspace)
	if err != nil {
		return Target{}, err
	}
	t := Target{
		WorkspaceID: w.ID, OwnerID: w.OwnerID, OrganizationID: w.OrganizationID, WorkspaceName: w.Name, OwnerName: w.OwnerName,
		App: strings.ToLower(n.App), Title: n.App, Level: coder.WorkspaceAppSharingLevelOwner, CORS: coder.CORSBehavior(w.CorsBehavior),
		Status:  coder.NewWorkspaceStatus(coder.WorkspaceTransition(w.Transition), coder.ProvisionerJobStatus(w.Status)),
		Running: w.Started && w.DormantAt == nil,
		userACL: w.UserACL, groupACL: w.GroupACL,
	}
	if w.StartJobID == uuid.Nil {
		return t, nil // it has never been started
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
	if n.Agent == "" { // those of dev containers are named by who means them, unless there is no other
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
		t.Level, t.Health = coder.WorkspaceAppSharingLevel(a.SharingLevel), coder.WorkspaceAppHealth(a.Health)
		return t, nil
	case isPort && len(agents) == 1:
		t.at(s.now(), agents[0])
		return t, s.findPort(ctx, &t, port, https, coder.WorkspaceAgentPortShareLevel(w.MaxPortShareLevel))
	}
	return Target{}, coder.NotFound()
}

func only[T any](all []T, keep func(T) bool) (out []T) {
	for _, v := range all {
		if keep(v) {
			out = append(out, v)
		}
	}
	return out
}

// at says that the target is with an agent.
func (t *Target) at(now time.Time, a sqlc.AppAgentsRow) {
	t.AgentID, t.AgentName = a.ID, a.Name
	t.Agent = coder.AgentStatus(now, coder.AgentTimes{
		Created: a.CreatedAt, FirstConnected: a.FirstConnectedAt, LastConnected: a.LastConnectedAt,
		Disconnected: a.DisconnectedAt, ConnectionTimeout: time.Duration(a.ConnectionTimeoutSeconds) * time.Second,
	})
}

// findPort fills in what is known of a port: how it is shared, at most as the
// template permits, and what it speaks.
func (s *Service) findPort(ctx context.Context, t *Target, port int, https bool, most coder.WorkspaceAgentPortShareLevel) error {
	t.Port, t.Title, t.Health = port, fmt.Sprintf("port %d", port), coder.WorkspaceAppHealthDisabled
	share, err := s.c.Store.AppPortShare(ctx, t.WorkspaceID, t.AgentName, int32(port))
	switch {
	case err == nil:
		t.Level = coder.WorkspaceAppSharingLevel(coder.WorkspaceAgentPortShareLevel(share.ShareLevel).AtMost(most))
		https = https || share.Protocol == string(coder.WorkspaceAgentPortShareProtocolHTTPS)
	case !coder.Is(err, coder.CodeNotFound):
		return err
	}
	u := url.URL{Scheme: "http", Host: "localhost:" + strconv.Itoa(port)}
	if https {
		u.Scheme = "https"
	}
	t.URL = u.String()
	return nil
}
