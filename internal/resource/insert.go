// Package resource keeps what builds and imports made: the resources, the
// agents that run in them, and the apps of those agents.
//
// Insert writes what a provisioner reported, in the transaction that completes
// its job; a whole build is four COPYs however many resources it has. Load
// reads the resources of any number of jobs in five queries, with the status
// and health of every agent worked out for the moment of reading, because
// neither is ever stored.
//
// Names of agents and slugs of apps address things in URLs and host names, so
// both are unique within a job, whatever their case; Insert refuses others.
package resource

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Options of Insert.
type Options struct {
	Now time.Time // when the resources came to be
	// Preview says that nothing was made: the resources are those that an
	// import or a dry run foresees. Their agents get no token.
	Preview bool
}

// Insert stores the resources of a job. q is the transaction that completes
// it. An error of the code invalid explains what the template must change.
func Insert(ctx context.Context, q *sqlc.Queries, jobID uuid.UUID, transition coder.WorkspaceTransition, rs []*provisioner.Resource, o Options) error {
	b := batch{Options: o, agents: map[string]bool{}, slugs: map[string]bool{}}
	for i, r := range rs {
		if err := b.addResource(jobID, transition, i, r); err != nil {
			return err
		}
	}
	if len(b.resourceRows) > 0 {
		if _, err := q.ResourceInsert(ctx, b.resourceRows); err != nil {
			return err
		}
	}
	if len(b.agentRows) > 0 {
		if _, err := q.ResourceInsertAgent(ctx, b.agentRows); err != nil {
			return err
		}
	}
	if len(b.appRows) > 0 {
		if _, err := q.ResourceInsertApp(ctx, b.appRows); err != nil {
			return err
		}
	}
	if len(b.sourceRows) > 0 {
		if _, err := q.ResourceInsertLogSource(ctx, b.sourceRows); err != nil {
			return err
		}
	}
	return nil
}

// batch gathers the rows of one Insert and what must be unique among them.
type batch struct {
	Options
	agents, slugs map[string]bool

	resourceRows []sqlc.ResourceInsertParams
	agentRows    []sqlc.ResourceInsertAgentParams
	appRows      []sqlc.ResourceInsertAppParams
	sourceRows   []sqlc.ResourceInsertLogSourceParams
}

func (b *batch) addResource(jobID uuid.UUID, transition coder.WorkspaceTransition, position int, r *provisioner.Resource) error {
	row := sqlc.ResourceInsertParams{
		ID: uuid.New(), JobID: jobID, Transition: string(transition), Type: r.Type, Name: r.Name,
		Hide: r.Hide, Icon: r.Icon, DailyCost: r.DailyCost, ModulePath: r.ModulePath,
		Metadata: []coder.WorkspaceResourceMetadata{}, Position: int32(position), CreatedAt: b.Now,
	}
	if r.InstanceType != "" {
		row.Metadata = append(row.Metadata, coder.WorkspaceResourceMetadata{Key: "type", Value: r.InstanceType})
	}
	for _, m := range r.Metadata {
		if !m.IsNull {
			row.Metadata = append(row.Metadata, coder.WorkspaceResourceMetadata{Key: m.Key, Value: m.Value, Sensitive: m.Sensitive})
		}
	}
	b.resourceRows = append(b.resourceRows, row)
	for _, a := range r.Agents {
		if err := b.addAgent(row.ID, a); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) addAgent(resourceID uuid.UUID, a *provisioner.Agent) error {
	if key := strings.ToLower(a.Name); b.agents[key] {
		return coder.Errorf(coder.CodeInvalid, "Two agents are named %q: give each coder_agent of the template a name of its own", a.Name)
	} else if a.Name == "" {
		return coder.Errorf(coder.CodeInvalid, "An agent has no name: name each coder_agent of the template")
	} else {
		b.agents[key] = true
	}
	token, err := b.token(a)
	if err != nil {
		return err
	}
	row := sqlc.ResourceInsertAgentParams{
		ID: uuid.New(), ResourceID: resourceID, Name: a.Name, Token: token, InstanceID: a.GetInstanceId(),
		OperatingSystem: a.OperatingSystem, Architecture: a.Architecture, Directory: a.Directory,
		Environment: environment(a), MotdFile: a.MotdFile, TroubleshootingUrl: a.TroubleshootingUrl,
		ConnectionTimeoutSeconds: max(0, a.ConnectionTimeoutSeconds), DisplayApps: displayApps(a.DisplayApps),
		Scripts: []coder.WorkspaceAgentScript{}, MetadataItems: metadata(a), ApiKeyScope: a.ApiKeyScope,
		Position: int32(a.Order), CreatedAt: b.Now, UpdatedAt: b.Now,
		ResourceMonitors: monitors(a), Devcontainers: devcontainers(a),
	}
	if row.ApiKeyScope == "" {
		row.ApiKeyScope = "all"
	}
	for _, s := range a.Scripts {
		script := newScript(s)
		row.Scripts = append(row.Scripts, script)
		b.sourceRows = append(b.sourceRows, sqlc.ResourceInsertLogSourceParams{
			ID: script.LogSourceID, AgentID: row.ID, DisplayName: s.DisplayName, Icon: s.Icon, CreatedAt: b.Now,
		})
	}
	b.agentRows = append(b.agentRows, row)
	for _, app := range a.Apps {
		if err := b.addApp(row.ID, a.Name, app); err != nil {
			return err
		}
	}
	return nil
}

// token keeps the token that Terraform wrote into the workspace.
func (b *batch) token(a *provisioner.Agent) (*uuid.UUID, error) {
	if b.Preview || a.GetToken() == "" {
		return nil, nil
	}
	t, err := uuid.Parse(a.GetToken())
	if err != nil {
		return nil, coder.Errorf(coder.CodeInvalid, "The token of agent %q is not one that coder_agent makes", a.Name)
	}
	return &t, nil
}

func environment(a *provisioner.Agent) map[string]string {
	env := map[string]string{}
	maps.Copy(env, a.Env)
	for _, e := range a.ExtraEnvs {
		env[e.Name] = e.Value
	}
	return env
}

func metadata(a *provisioner.Agent) []coder.WorkspaceAgentMetadataDescription {
	items := slices.Clone(a.Metadata)
	slices.SortStableFunc(items, func(x, y *provisioner.Agent_Metadata) int { return int(x.Order - y.Order) })
	out := []coder.WorkspaceAgentMetadataDescription{}
	for _, m := range items {
		out = append(out, coder.WorkspaceAgentMetadataDescription{
			DisplayName: m.DisplayName, Key: m.Key, Script: m.Script, Interval: m.Interval, Timeout: m.Timeout,
		})
	}
	return out
}

func displayApps(d *provisioner.DisplayApps) []string {
	out := []string{}
	add := func(on bool, app coder.DisplayApp) {
		if on {
			out = append(out, string(app))
		}
	}
	add(d.GetVscode(), coder.DisplayAppVSCode)
	add(d.GetVscodeInsiders(), coder.DisplayAppVSCodeInsiders)
	add(d.GetWebTerminal(), coder.DisplayAppWebTerminal)
	add(d.GetSshHelper(), coder.DisplayAppSSHHelper)
	add(d.GetPortForwardingHelper(), coder.DisplayAppPortForwardingHelper)
	return out
}

func newScript(s *provisioner.Script) coder.WorkspaceAgentScript {
	return coder.WorkspaceAgentScript{
		ID: uuid.New(), LogSourceID: uuid.New(), DisplayName: s.DisplayName, Script: s.Script, Cron: s.Cron,
		RunOnStart: s.RunOnStart, RunOnStop: s.RunOnStop, StartBlocksLogin: s.StartBlocksLogin,
		LogPath: s.LogPath, Timeout: time.Duration(s.TimeoutSeconds) * time.Second,
	}
}

func (b *batch) addApp(agentID uuid.UUID, agent string, a *provisioner.App) error {
	if key := strings.ToLower(a.Slug); b.slugs[key] {
		return coder.Errorf(coder.CodeInvalid, "Two apps have the slug %q: give each coder_app of the template a slug of its own", a.Slug)
	} else if a.Slug == "" {
		return coder.Errorf(coder.CodeInvalid, "An app of agent %q has no slug: give each coder_app of the template one", agent)
	} else {
		b.slugs[key] = true
	}
	row := sqlc.ResourceInsertAppParams{
		ID: uuid.New(), AgentID: agentID, Slug: a.Slug, DisplayName: a.DisplayName, Icon: a.Icon,
		Command: a.Command, URL: a.Url, External: a.External, Subdomain: a.Subdomain,
		SharingLevel: sharingLevel(a.SharingLevel), OpenIn: openIn(a.OpenIn), AppGroup: a.Group, Tooltip: a.Tooltip,
		Hidden: a.Hidden, Position: int32(a.Order), Health: string(coder.WorkspaceAppHealthDisabled), CreatedAt: b.Now,
	}
	if row.DisplayName == "" {
		row.DisplayName = a.Slug
	}
	if h := a.Healthcheck; h.GetUrl() != "" {
		row.HealthcheckUrl, row.HealthcheckInterval, row.HealthcheckThreshold = h.Url, h.Interval, h.Threshold
		row.Health = string(coder.WorkspaceAppHealthInitializing)
	}
	b.appRows = append(b.appRows, row)
	return nil
}

func sharingLevel(l provisioner.AppSharingLevel) string {
	switch l {
	case provisioner.AppSharingLevel_AUTHENTICATED:
		return string(coder.WorkspaceAppSharingLevelAuthenticated)
	case provisioner.AppSharingLevel_PUBLIC:
		return string(coder.WorkspaceAppSharingLevelPublic)
	}
	return string(coder.WorkspaceAppSharingLevelOwner)
}

func openIn(o provisioner.AppOpenIn) string {
	if o == provisioner.AppOpenIn_TAB {
		return string(coder.WorkspaceAppOpenInTab)
	}
	return string(coder.WorkspaceAppOpenInSlimWindow)
}
