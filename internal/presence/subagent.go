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

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Limits of what runs in dev containers.
const (
	// SubAgentLimit is how many agents of dev containers an agent may have.
	SubAgentLimit = 32
	// subAppLimit is how many apps each of those may have.
	subAppLimit = 64
	// subNameLimit is how long the name of one may be: it becomes part of host names.
	subNameLimit = 32
)

// SubAgent is the agent of a dev container.
type SubAgent struct {
	ID             uuid.UUID
	Name           string
	DevcontainerID uuid.UUID
}

// NewSubAgent is what an agent wants the agent of a dev container to be.
type NewSubAgent struct {
	DevcontainerID  uuid.UUID
	Name            string // with a number behind it where another agent has it
	Directory       string
	Architecture    string
	OperatingSystem string
	DisplayApps     []string
	Apps            []coder.WorkspaceApp // without ids, in their order
	Environment     map[string]string
}

// sessionPlaceholder in an external app's URL stands for a token of who opens it. A
// configuration comes with a repository, of whom nobody knows what they would do
// with one.
const sessionPlaceholder = "$SESSION_TOKEN"

// subAgentName and appSlug are what becomes part of host names.
var (
	subAgentName = regexp.MustCompile(`^(?i)[a-z0-9](-?[a-z0-9])*$`)
	appSlug      = regexp.MustCompile(`^[a-z0-9](-?[a-z0-9])*$`)
)

func (n NewSubAgent) check() error {
	switch {
	case n.DevcontainerID == uuid.Nil:
		return coder.Invalid("devcontainer_id", "say which dev container the agent is for")
	case !subAgentName.MatchString(n.Name) || len(n.Name) > subNameLimit:
		return coder.Invalid("name", "%q cannot be the name of an agent: use letters, digits and single hyphens, at most %d", clip(n.Name, 64), subNameLimit)
	case len(n.Apps) > subAppLimit:
		return coder.Invalid("apps", "an agent of a dev container has at most %d apps", subAppLimit)
	case len(n.Environment) > 1000:
		return coder.Invalid("environment", "at most 1000 variables")
	}
	slugs := map[string]bool{}
	for _, a := range n.Apps {
		if !appSlug.MatchString(a.Slug) || len(a.Slug) > subNameLimit {
			return coder.Invalid("apps", "the slug %q must be lower-case letters, digits and single hyphens between them, at most %d", clip(a.Slug, 64), subNameLimit)
		}
		if slugs[a.Slug] {
			return coder.Invalid("apps", "two apps have the slug %q", a.Slug)
		}
		if a.External && strings.Contains(a.URL, sessionPlaceholder) {
			return coder.Invalid("apps", "the app %q asks for a token of who opens it, which only an app of the template may", a.Slug)
		}
		slugs[a.Slug] = true
	}
	return nil
}

// CreateSubAgent makes the agent of a dev container below parent, or changes it
// when it exists, and gives it with a new token: what ran with an older one can
// do nothing more. Apps are shared as far as the template lets ports be. The code is invalid for what cannot be, conflict when parent
// has too many, and forbidden when parent is such an agent itself. (AG-21)
func (s *Service) CreateSubAgent(ctx context.Context, parent Agent, n NewSubAgent) (made SubAgent, token string, err error) {
	if parent.row.ParentID != nil {
		return SubAgent{}, "", coder.Errorf(coder.CodeForbidden, "The agent of a dev container has no dev containers of its own")
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
		for i, a := range n.Apps { // as ports, which everybody in the workspace may share too
			level := coder.WorkspaceAgentPortShareLevel(a.SharingLevel).AtMost(coder.WorkspaceAgentPortShareLevel(most))
			n.Apps[i].SharingLevel = coder.WorkspaceAppSharingLevel(level)
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

// putSubAgent inserts or updates the row of a sub-agent and its apps. all are the
// agents of the build.
func (s *Service) putSubAgent(ctx context.Context, q *sqlc.Queries, parent Agent, n NewSubAgent, token uuid.UUID, all []sqlc.SubAgentNamesRow) (SubAgent, error) {
	declared := coder.DeclaredDevcontainer{}
	if i := slices.IndexFunc(parent.row.Devcontainers, func(d coder.DeclaredDevcontainer) bool { return d.ID == n.DevcontainerID }); i >= 0 {
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
				ID: a.ID, Token: token, OperatingSystem: clip(n.OperatingSystem, 50), Architecture: clip(n.Architecture, 50),
				Directory: clip(n.Directory, 4096), Environment: env, DisplayApps: displayApps(n.DisplayApps), Now: now,
			}); err != nil {
				return SubAgent{}, err
			}
			return SubAgent{a.ID, a.Name, n.DevcontainerID}, putSubApps(ctx, q, a.ID, slices.Concat(n.Apps, declared.Apps), now)
		}
	}
	if children >= SubAgentLimit {
		return SubAgent{}, coder.Errorf(coder.CodeConflict, "An agent has at most %d dev containers with agents; delete one that is not needed", SubAgentLimit)
	}
	made := SubAgent{ID: uuid.New(), Name: n.Name, DevcontainerID: n.DevcontainerID}
	for i := 2; taken[strings.ToLower(made.Name)]; i++ {
		made.Name = fmt.Sprintf("%s-%d", n.Name, i)
	}
	scripts := declared.Scripts
	if scripts == nil {
		scripts = []coder.WorkspaceAgentScript{}
	}
	if err := q.SubAgentInsert(ctx, sqlc.SubAgentInsertParams{
		ID: made.ID, ResourceID: parent.ResourceID, ParentID: parent.ID, DevcontainerID: n.DevcontainerID, Name: made.Name, Token: token,
		OperatingSystem: clip(n.OperatingSystem, 50), Architecture: clip(n.Architecture, 50), Directory: clip(n.Directory, 4096), Environment: env,
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

// putSubApps makes apps those of an agent. Of two with one slug the last counts.
func putSubApps(ctx context.Context, q *sqlc.Queries, agent uuid.UUID, apps []coder.WorkspaceApp, now time.Time) error {
	if err := q.SubAgentDeleteApps(ctx, agent); err != nil {
		return err
	}
	var rows []sqlc.ResourceInsertAppParams
	for i, a := range apps {
		row := sqlc.ResourceInsertAppParams{
			ID: uuid.New(), AgentID: agent, Slug: a.Slug, DisplayName: clip(a.DisplayName, 64), Icon: clip(a.Icon, 1024), Command: clip(a.Command, 4096),
			URL: clip(a.URL, 4096), External: a.External, Subdomain: a.Subdomain, SharingLevel: string(a.SharingLevel), OpenIn: string(coder.WorkspaceAppOpenInSlimWindow),
			AppGroup: clip(a.Group, 64), Tooltip: clip(a.Tooltip, 2048), Hidden: a.Hidden, Position: int32(i), Health: string(coder.WorkspaceAppHealthDisabled), CreatedAt: now,
		}
		if row.DisplayName == "" {
			row.DisplayName = a.Slug
		}
		if a.OpenIn == coder.WorkspaceAppOpenInTab {
			row.OpenIn = string(a.OpenIn)
		}
		if h := a.Healthcheck; h.URL != "" {
			row.HealthcheckUrl, row.HealthcheckInterval, row.HealthcheckThreshold = clip(h.URL, 4096), max(1, h.Interval), max(1, h.Threshold)
			row.Health = string(coder.WorkspaceAppHealthInitializing)
		}
		rows = slices.DeleteFunc(rows, func(r sqlc.ResourceInsertAppParams) bool { return r.Slug == a.Slug })
		rows = append(rows, row)
	}
	_, err := q.ResourceInsertApp(ctx, rows)
	return err
}

// displayApps keeps the names that the contract knows, each once.
func displayApps(in []string) []string {
	out := []string{}
	for _, n := range in {
		switch coder.DisplayApp(n) {
		case coder.DisplayAppPortForwardingHelper, coder.DisplayAppSSHHelper, coder.DisplayAppVSCode, coder.DisplayAppVSCodeInsiders, coder.DisplayAppWebTerminal:
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// DeleteSubAgent deletes an agent of a dev container below parent; one that is
// not there is no error.
func (s *Service) DeleteSubAgent(ctx context.Context, parent Agent, id uuid.UUID) error {
	_, err := s.store.SubAgentDelete(ctx, id, parent.ID)
	if coder.Is(err, coder.CodeNotFound) {
		return nil
	}
	if err == nil {
		s.changed(parent)
	}
	return err
}

// SubAgents gives the agents of the dev containers below parent, the oldest first.
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
