package presence

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Limits of dev containers.
const (
	// SubAgentLimit is the maximum number of dev container agents of an agent.
	SubAgentLimit = 32
	// subAppLimit is the maximum number of apps of a dev container agent.
	subAppLimit = 64
	// subNameLimit is the maximum length of a name, which becomes part of host names.
	subNameLimit = 32
)

// SubAgent is the agent of a dev container.
type SubAgent struct {
	ID             uuid.UUID
	Name           string
	DevcontainerID uuid.UUID
}

// NewSubAgent is a request for a dev container agent.
type NewSubAgent struct {
	DevcontainerID  uuid.UUID
	Name            string // a number is appended if another agent has the name
	Directory       string
	Architecture    string
	OperatingSystem string
	DisplayApps     []string
	Apps            []codersdk.WorkspaceApp // without IDs, in order
	Environment     map[string]string
}

// sessionPlaceholder in the URL of an external app is replaced by a session token of the user. The
// configuration of a dev container comes from a repository, which may be hostile, so it must not use
// the placeholder.
const sessionPlaceholder = "$SESSION_TOKEN"

// subAgentName and appSlug match names that become part of host names.
var (
	subAgentName = regexp.MustCompile(`^(?i)[a-z0-9](-?[a-z0-9])*$`)
	appSlug      = regexp.MustCompile(`^[a-z0-9](-?[a-z0-9])*$`)
)

func (n NewSubAgent) check() error {
	switch {
	case n.DevcontainerID == uuid.Nil:
		return codersdk.Invalid("devcontainer_id", "is required")
	case !subAgentName.MatchString(n.Name) || len(n.Name) > subNameLimit:
		return codersdk.Invalid("name", "%q is not a valid agent name; use at most %d letters, digits and single hyphens", truncate(n.Name, 64), subNameLimit)
	case len(n.Apps) > subAppLimit:
		return codersdk.Invalid("apps", "at most %d apps are allowed for a dev container", subAppLimit)
	case len(n.Environment) > 1000:
		return codersdk.Invalid("environment", "at most 1000 variables are allowed")
	}
	slugs := map[string]bool{}
	for _, a := range n.Apps {
		if !appSlug.MatchString(a.Slug) || len(a.Slug) > subNameLimit {
			return codersdk.Invalid(
				"apps",
				"the slug %q must be lowercase letters, digits and single hyphens between them, at most %d characters",
				truncate(a.Slug, 64),
				subNameLimit,
			)
		}
		if slugs[a.Slug] {
			return codersdk.Invalid("apps", "two apps have the slug %q", a.Slug)
		}
		if a.External && strings.Contains(a.URL, sessionPlaceholder) {
			return codersdk.Invalid("apps", "the app %q uses $SESSION_TOKEN, which only apps of the template can use", a.Slug)
		}
		slugs[a.Slug] = true
	}
	return nil
}

// CreateSubAgent creates the agent of a dev container of parent, or updates it if it exists, and
// returns it with a new token. The previous token is revoked. The sharing of its apps is limited by
// the template's limit for ports. The error is CodeInvalid for an invalid request, CodeConflict if
// parent has too many, and CodeForbidden if parent is itself a dev container agent. (AG-21)
func (s *Service) CreateSubAgent(ctx context.Context, parent Agent, n NewSubAgent) (made SubAgent, token string, err error) {
	if parent.row.ParentID != nil {
		return SubAgent{}, "", codersdk.Errorf(codersdk.CodeForbidden, "The agent of a dev container cannot have dev containers")
	}
	if err := n.check(); err != nil {
		return SubAgent{}, "", err
	}
	secret := uuid.New()
	err = s.store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := q.SubAgentLockParent(ctx, parent.ResourceID); err != nil {
			return err
		}
		all, err := q.SubAgentNames(ctx, parent.JobID)
		if err != nil {
			return err
		}
		most, err := q.AppMaxPortShareLevel(ctx, parent.WorkspaceID)
		if err != nil {
			return err
		}
		for i, a := range n.Apps { // limited like ports, which processes in the workspace can share too
			level := codersdk.WorkspaceAgentPortShareLevel(a.SharingLevel).AtMost(codersdk.WorkspaceAgentPortShareLevel(most))
			n.Apps[i].SharingLevel = codersdk.WorkspaceAppSharingLevel(level)
		}
		made, err = s.putSubAgent(ctx, q, parent, n, secret, all)
		return err
	})
	if err != nil {
		return SubAgent{}, "", err
	}
	s.changed(parent)
	return made, secret.String(), nil
}

// putSubAgent inserts or updates the row of a dev container agent and its apps. all are the agents of
// the build.
func (s *Service) putSubAgent(
	ctx context.Context,
	q *sqlc.Queries,
	parent Agent,
	n NewSubAgent,
	token uuid.UUID,
	all []sqlc.SubAgentNamesRow,
) (SubAgent, error) {
	declared := codersdk.DeclaredDevcontainer{}
	if i := slices.IndexFunc(parent.row.Devcontainers, func(d codersdk.DeclaredDevcontainer) bool { return d.ID == n.DevcontainerID }); i >= 0 {
		declared = parent.row.Devcontainers[i]
	}
	env := map[string]string{}
	maps.Copy(env, n.Environment)
	maps.Copy(env, declared.Environment)
	now, children, taken := s.now(), 0, map[string]bool{}
	for _, a := range all {
		taken[strings.ToLower(a.Name)] = true
		if a.ParentID == nil || *a.ParentID != parent.ID {
			continue
		}
		children++
		if a.DevcontainerID != nil && *a.DevcontainerID == n.DevcontainerID {
			if err := q.SubAgentUpdate(ctx, sqlc.SubAgentUpdateParams{
				ID: a.ID, Token: token, Hashed: s.vault.Ready(), OperatingSystem: truncate(n.OperatingSystem, 50), Architecture: truncate(n.Architecture, 50),
				Directory: truncate(n.Directory, 4096), Environment: env, DisplayApps: displayApps(n.DisplayApps), Now: now,
			}); err != nil {
				return SubAgent{}, err
			}
			return SubAgent{a.ID, a.Name, n.DevcontainerID}, putSubApps(ctx, q, a.ID, slices.Concat(n.Apps, declared.Apps), now)
		}
	}
	if children >= SubAgentLimit {
		return SubAgent{}, codersdk.Errorf(codersdk.CodeConflict, "An agent can have at most %d dev containers with agents; delete one first", SubAgentLimit)
	}
	made := SubAgent{ID: uuid.New(), Name: n.Name, DevcontainerID: n.DevcontainerID}
	for i := 2; taken[strings.ToLower(made.Name)]; i++ {
		made.Name = fmt.Sprintf("%s-%d", n.Name, i)
	}
	scripts := declared.Scripts
	if scripts == nil {
		scripts = []codersdk.WorkspaceAgentScript{}
	}
	if err := q.SubAgentInsert(ctx, sqlc.SubAgentInsertParams{
		ID: made.ID, ResourceID: parent.ResourceID, ParentID: parent.ID, DevcontainerID: n.DevcontainerID, Name: made.Name, Token: token, Hashed: s.vault.Ready(),
		OperatingSystem: truncate(n.OperatingSystem, 50), Architecture: truncate(n.Architecture, 50), Directory: truncate(n.Directory, 4096), Environment: env,
		DisplayApps: displayApps(n.DisplayApps), Scripts: scripts, ApiKeyScope: parent.row.ApiKeyScope, TroubleshootingUrl: parent.row.TroubleshootingUrl,
		ConnectionTimeoutSeconds: parent.row.ConnectionTimeoutSeconds, Position: parent.row.Position, Now: now,
	}); err != nil {
		return SubAgent{}, err
	}
	sources := make([]sqlc.ResourceInsertLogSourceParams, len(scripts))
	for i, sc := range scripts {
		sources[i] = sqlc.ResourceInsertLogSourceParams{ID: sc.LogSourceID, AgentID: made.ID, DisplayName: sc.DisplayName, CreatedAt: now}
	}
	if _, err := q.ResourceInsertLogSource(ctx, sources); err != nil {
		return SubAgent{}, err
	}
	return made, putSubApps(ctx, q, made.ID, slices.Concat(n.Apps, declared.Apps), now)
}

// putSubApps replaces the apps of an agent. Of two apps with one slug the last is used.
func putSubApps(ctx context.Context, q *sqlc.Queries, agent uuid.UUID, apps []codersdk.WorkspaceApp, now time.Time) error {
	if err := q.SubAgentDeleteApps(ctx, agent); err != nil {
		return err
	}
	var rows []sqlc.ResourceInsertAppParams
	for i, a := range apps {
		row := sqlc.ResourceInsertAppParams{
			ID: uuid.New(), AgentID: agent, Slug: a.Slug, DisplayName: truncate(a.DisplayName, 64), Icon: truncate(a.Icon, 1024), Command: truncate(a.Command, 4096),
			URL: truncate(
				a.URL,
				4096,
			), External: a.External, Subdomain: a.Subdomain, SharingLevel: string(a.SharingLevel), OpenIn: string(codersdk.WorkspaceAppOpenInSlimWindow),
			AppGroup: truncate(
				a.Group,
				64,
			), Tooltip: truncate(a.Tooltip, 2048), Hidden: a.Hidden, Position: int32(i), Health: string(codersdk.WorkspaceAppHealthDisabled), CreatedAt: now,
		}
		if row.DisplayName == "" {
			row.DisplayName = a.Slug
		}
		if a.OpenIn == codersdk.WorkspaceAppOpenInTab {
			row.OpenIn = string(a.OpenIn)
		}
		if h := a.Healthcheck; h.URL != "" {
			row.HealthcheckUrl, row.HealthcheckInterval, row.HealthcheckThreshold = truncate(h.URL, 4096), max(1, h.Interval), max(1, h.Threshold)
			row.Health = string(codersdk.WorkspaceAppHealthInitializing)
		}
		rows = slices.DeleteFunc(rows, func(r sqlc.ResourceInsertAppParams) bool { return r.Slug == a.Slug })
		rows = append(rows, row)
	}
	_, err := q.ResourceInsertApp(ctx, rows)
	return err
}

// displayApps returns the known names without duplicates.
func displayApps(in []string) []string {
	out := []string{}
	for _, n := range in {
		switch codersdk.DisplayApp(n) {
		case codersdk.DisplayAppPortForwardingHelper,
			codersdk.DisplayAppSSHHelper,
			codersdk.DisplayAppVSCode,
			codersdk.DisplayAppVSCodeInsiders,
			codersdk.DisplayAppWebTerminal:
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// DeleteSubAgent deletes a dev container agent of parent. A missing agent is no error.
func (s *Service) DeleteSubAgent(ctx context.Context, parent Agent, id uuid.UUID) error {
	_, err := s.store.SubAgentDelete(ctx, id, parent.ID)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return nil
	}
	if err == nil {
		s.changed(parent)
	}
	return err
}

// SubAgents returns the dev container agents of parent, the oldest first.
func (s *Service) SubAgents(ctx context.Context, parent Agent) ([]SubAgent, error) {
	rows, err := s.store.SubAgents(ctx, parent.ID)
	if err != nil {
		return nil, err
	}
	out := make([]SubAgent, len(rows))
	for i, r := range rows {
		out[i] = SubAgent{ID: r.ID, Name: r.Name}
		if r.DevcontainerID != nil {
			out[i].DevcontainerID = *r.DevcontainerID
		}
	}
	return out, nil
}
