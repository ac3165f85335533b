package resource

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Load reads the resources of jobs, in the order in which they were inserted,
// with agents, apps and log sources. A job without resources has no entry.
func Load(ctx context.Context, q *sqlc.Queries, now time.Time, jobIDs []uuid.UUID) (map[uuid.UUID][]codersdk.WorkspaceResource, error) {
	out := map[uuid.UUID][]codersdk.WorkspaceResource{}
	if len(jobIDs) == 0 {
		return out, nil
	}
	resources, err := q.ResourcesOfJobs(ctx, jobIDs)
	if err != nil || len(resources) == 0 {
		return out, err
	}
	agents, err := loadAgents(ctx, q, now, jobIDs)
	if err != nil {
		return nil, err
	}
	for _, r := range resources {
		v := codersdk.WorkspaceResource{
			Agents: agents[r.ID], CreatedAt: r.CreatedAt, DailyCost: r.DailyCost, Hide: r.Hide, Icon: r.Icon,
			ID: r.ID, JobID: r.JobID, Metadata: r.Metadata, Name: r.Name, Type: r.Type,
			WorkspaceTransition: codersdk.WorkspaceTransition(r.Transition),
		}
		if v.Agents == nil {
			v.Agents = []codersdk.WorkspaceAgent{}
		}
		out[r.JobID] = append(out[r.JobID], v)
	}
	return out, nil
}

// loadAgents returns the agents of jobs by resource.
func loadAgents(ctx context.Context, q *sqlc.Queries, now time.Time, jobIDs []uuid.UUID) (map[uuid.UUID][]codersdk.WorkspaceAgent, error) {
	out := map[uuid.UUID][]codersdk.WorkspaceAgent{}
	rows, err := q.ResourceAgentsOfJobs(ctx, jobIDs)
	if err != nil || len(rows) == 0 {
		return out, err
	}
	ids := make([]uuid.UUID, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	apps, err := loadApps(ctx, q, ids)
	if err != nil {
		return nil, err
	}
	sources, err := loadSources(ctx, q, ids)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		a := Agent(now, r)
		if v := apps[r.ID]; v != nil {
			a.Apps = v
		}
		if v := sources[r.ID]; v != nil {
			a.LogSources = v
		}
		out[r.ResourceID] = append(out[r.ResourceID], a)
	}
	return out, nil
}

// Agent returns the state of one agent at now, without its apps and log sources.
func Agent(now time.Time, r sqlc.WorkspaceAgent) codersdk.WorkspaceAgent {
	a := codersdk.WorkspaceAgent{
		APIVersion: r.ApiVersion, Apps: []codersdk.WorkspaceApp{}, Architecture: r.Architecture,
		ConnectionTimeoutSeconds: r.ConnectionTimeoutSeconds, CreatedAt: r.CreatedAt, Directory: r.Directory,
		DisconnectedAt: r.DisconnectedAt, DisplayApps: []codersdk.DisplayApp{}, EnvironmentVariables: r.Environment,
		ExpandedDirectory: r.ExpandedDirectory, FirstConnectedAt: r.FirstConnectedAt, ID: r.ID, InstanceID: r.InstanceID,
		LastConnectedAt: r.LastConnectedAt, Latency: map[string]codersdk.DERPRegion{},
		LifecycleState: codersdk.WorkspaceAgentLifecycle(r.LifecycleState), LogSources: []codersdk.WorkspaceAgentLogSource{},
		LogsLength: r.LogsLength, LogsOverflowed: r.LogsOverflowed, Name: r.Name, OperatingSystem: r.OperatingSystem,
		ParentID: r.ParentID, ReadyAt: r.ReadyAt, ResourceID: r.ResourceID, ResourceMonitors: r.ResourceMonitors, Scripts: r.Scripts, StartedAt: r.StartedAt,
		StartupScriptBehavior: codersdk.WorkspaceAgentStartupScriptBehaviorNonBlocking, Subsystems: []codersdk.AgentSubsystem{},
		TroubleshootingURL: r.TroubleshootingUrl, UpdatedAt: r.UpdatedAt, Version: r.Version,
	}
	for _, d := range r.DisplayApps {
		a.DisplayApps = append(a.DisplayApps, codersdk.DisplayApp(d))
	}
	for _, s := range r.Subsystems {
		a.Subsystems = append(a.Subsystems, codersdk.AgentSubsystem(s))
	}
	for _, s := range r.Scripts {
		if s.RunOnStart && s.StartBlocksLogin {
			a.StartupScriptBehavior = codersdk.WorkspaceAgentStartupScriptBehaviorBlocking
		}
	}
	a.Status = codersdk.AgentStatus(now, codersdk.AgentTimes{
		Created: r.CreatedAt, FirstConnected: r.FirstConnectedAt, LastConnected: r.LastConnectedAt,
		Disconnected: r.DisconnectedAt, ConnectionTimeout: time.Duration(r.ConnectionTimeoutSeconds) * time.Second,
	})
	a.Health = codersdk.AgentHealth(a.Status, a.LifecycleState)
	return a
}

func loadApps(ctx context.Context, q *sqlc.Queries, agents []uuid.UUID) (map[uuid.UUID][]codersdk.WorkspaceApp, error) {
	rows, err := q.ResourceAppsOfAgents(ctx, agents)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	statuses, err := loadStatuses(ctx, q, rows)
	if err != nil {
		return nil, err
	}
	out := map[uuid.UUID][]codersdk.WorkspaceApp{}
	for _, r := range rows {
		out[r.AgentID] = append(out[r.AgentID], codersdk.WorkspaceApp{
			Command: r.Command, DisplayName: r.DisplayName, External: r.External, Group: r.AppGroup,
			Health:      codersdk.WorkspaceAppHealth(r.Health),
			Healthcheck: codersdk.Healthcheck{URL: r.HealthcheckUrl, Interval: r.HealthcheckInterval, Threshold: r.HealthcheckThreshold},
			Hidden:      r.Hidden, Icon: r.Icon, ID: r.ID, OpenIn: codersdk.WorkspaceAppOpenIn(r.OpenIn),
			SharingLevel: codersdk.WorkspaceAppSharingLevel(r.SharingLevel), Slug: r.Slug,
			Statuses: append([]codersdk.WorkspaceAppStatus{}, statuses[r.ID]...), Subdomain: r.Subdomain, Tooltip: r.Tooltip, URL: r.URL,
		})
	}
	return out, nil
}

// loadStatuses returns the statuses that apps reported, the newest first.
func loadStatuses(ctx context.Context, q *sqlc.Queries, apps []sqlc.WorkspaceApp) (map[uuid.UUID][]codersdk.WorkspaceAppStatus, error) {
	ids := make([]uuid.UUID, len(apps))
	for i, a := range apps {
		ids[i] = a.ID
	}
	rows, err := q.AppStatuses(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := map[uuid.UUID][]codersdk.WorkspaceAppStatus{}
	for _, r := range rows {
		out[r.AppID] = append(out[r.AppID], codersdk.WorkspaceAppStatus{
			AgentID: r.AgentID, AppID: r.AppID, CreatedAt: r.CreatedAt, ID: r.ID, Message: r.Message,
			NeedsUserAttention: r.State == string(codersdk.WorkspaceAppStatusStateIdle), State: codersdk.WorkspaceAppStatusState(r.State),
			URI: r.Uri, WorkspaceID: r.WorkspaceID,
		})
	}
	return out, nil
}

func loadSources(ctx context.Context, q *sqlc.Queries, agents []uuid.UUID) (map[uuid.UUID][]codersdk.WorkspaceAgentLogSource, error) {
	rows, err := q.ResourceLogSourcesOfAgents(ctx, agents)
	if err != nil {
		return nil, err
	}
	out := map[uuid.UUID][]codersdk.WorkspaceAgentLogSource{}
	for _, r := range rows {
		out[r.AgentID] = append(out[r.AgentID], codersdk.WorkspaceAgentLogSource{
			CreatedAt: r.CreatedAt, DisplayName: r.DisplayName, Icon: r.Icon, ID: r.ID, WorkspaceAgentID: r.AgentID,
		})
	}
	return out, nil
}
