package resource

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Load reads the resources of jobs, in the order in which they were inserted,
// with agents, apps and log sources. A job without resources has no entry.
func Load(ctx context.Context, q *sqlc.Queries, now time.Time, jobIDs []uuid.UUID) (map[uuid.UUID][]coder.WorkspaceResource, error) {
	out := map[uuid.UUID][]coder.WorkspaceResource{}
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
		v := coder.WorkspaceResource{
			Agents: agents[r.ID], CreatedAt: r.CreatedAt, DailyCost: r.DailyCost, Hide: r.Hide, Icon: r.Icon,
			ID: r.ID, JobID: r.JobID, Metadata: r.Metadata, Name: r.Name, Type: r.Type,
			WorkspaceTransition: coder.WorkspaceTransition(r.Transition),
		}
		if v.Agents == nil {
			v.Agents = []coder.WorkspaceAgent{}
		}
		out[r.JobID] = append(out[r.JobID], v)
	}
	return out, nil
}

// loadAgents gives the agents of jobs by their resource.
func loadAgents(ctx context.Context, q *sqlc.Queries, now time.Time, jobIDs []uuid.UUID) (map[uuid.UUID][]coder.WorkspaceAgent, error) {
	out := map[uuid.UUID][]coder.WorkspaceAgent{}
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

// Agent shows one agent as it is at now, without its apps and log sources.
func Agent(now time.Time, r sqlc.WorkspaceAgent) coder.WorkspaceAgent {
	a := coder.WorkspaceAgent{
		APIVersion: r.ApiVersion, Apps: []coder.WorkspaceApp{}, Architecture: r.Architecture,
		ConnectionTimeoutSeconds: r.ConnectionTimeoutSeconds, CreatedAt: r.CreatedAt, Directory: r.Directory,
		DisconnectedAt: r.DisconnectedAt, DisplayApps: []coder.DisplayApp{}, EnvironmentVariables: r.Environment,
		ExpandedDirectory: r.ExpandedDirectory, FirstConnectedAt: r.FirstConnectedAt, ID: r.ID, InstanceID: r.InstanceID,
		LastConnectedAt: r.LastConnectedAt, Latency: map[string]coder.DERPRegion{},
		LifecycleState: coder.WorkspaceAgentLifecycle(r.LifecycleState), LogSources: []coder.WorkspaceAgentLogSource{},
		LogsLength: r.LogsLength, LogsOverflowed: r.LogsOverflowed, Name: r.Name, OperatingSystem: r.OperatingSystem,
		ParentID: r.ParentID, ReadyAt: r.ReadyAt, ResourceID: r.ResourceID, ResourceMonitors: r.ResourceMonitors, Scripts: r.Scripts, StartedAt: r.StartedAt,
		StartupScriptBehavior: coder.WorkspaceAgentStartupScriptBehaviorNonBlocking, Subsystems: []coder.AgentSubsystem{},
		TroubleshootingURL: r.TroubleshootingUrl, UpdatedAt: r.UpdatedAt, Version: r.Version,
	}
	for _, d := range r.DisplayApps {
		a.DisplayApps = append(a.DisplayApps, coder.DisplayApp(d))
	}
	for _, s := range r.Subsystems {
		a.Subsystems = append(a.Subsystems, coder.AgentSubsystem(s))
	}
	for _, s := range r.Scripts {
		if s.RunOnStart && s.StartBlocksLogin {
			a.StartupScriptBehavior = coder.WorkspaceAgentStartupScriptBehaviorBlocking
		}
	}
	a.Status = coder.AgentStatus(now, coder.AgentTimes{
		Created: r.CreatedAt, FirstConnected: r.FirstConnectedAt, LastConnected: r.LastConnectedAt,
		Disconnected: r.DisconnectedAt, ConnectionTimeout: time.Duration(r.ConnectionTimeoutSeconds) * time.Second,
	})
	a.Health = coder.AgentHealth(a.Status, a.LifecycleState)
	return a
}

func loadApps(ctx context.Context, q *sqlc.Queries, agents []uuid.UUID) (map[uuid.UUID][]coder.WorkspaceApp, error) {
	rows, err := q.ResourceAppsOfAgents(ctx, agents)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	statuses, err := loadStatuses(ctx, q, rows)
	if err != nil {
		return nil, err
	}
	out := map[uuid.UUID][]coder.WorkspaceApp{}
	for _, r := range rows {
		out[r.AgentID] = append(out[r.AgentID], coder.WorkspaceApp{
			Command: r.Command, DisplayName: r.DisplayName, External: r.External, Group: r.AppGroup,
			Health:      coder.WorkspaceAppHealth(r.Health),
			Healthcheck: coder.Healthcheck{URL: r.HealthcheckUrl, Interval: r.HealthcheckInterval, Threshold: r.HealthcheckThreshold},
			Hidden:      r.Hidden, Icon: r.Icon, ID: r.ID, OpenIn: coder.WorkspaceAppOpenIn(r.OpenIn),
			SharingLevel: coder.WorkspaceAppSharingLevel(r.SharingLevel), Slug: r.Slug,
			Statuses: append([]coder.WorkspaceAppStatus{}, statuses[r.ID]...), Subdomain: r.Subdomain, Tooltip: r.Tooltip, URL: r.URL,
		})
	}
	return out, nil
}

// loadStatuses gives what apps said of themselves, the newest first.
func loadStatuses(ctx context.Context, q *sqlc.Queries, apps []sqlc.WorkspaceApp) (map[uuid.UUID][]coder.WorkspaceAppStatus, error) {
	ids := make([]uuid.UUID, len(apps))
	for i, a := range apps {
		ids[i] = a.ID
	}
	rows, err := q.AppStatuses(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := map[uuid.UUID][]coder.WorkspaceAppStatus{}
	for _, r := range rows {
		out[r.AppID] = append(out[r.AppID], coder.WorkspaceAppStatus{
			AgentID: r.AgentID, AppID: r.AppID, CreatedAt: r.CreatedAt, ID: r.ID, Message: r.Message,
			NeedsUserAttention: r.State == string(coder.WorkspaceAppStatusStateIdle), State: coder.WorkspaceAppStatusState(r.State),
			URI: r.Uri, WorkspaceID: r.WorkspaceID,
		})
	}
	return out, nil
}

func loadSources(ctx context.Context, q *sqlc.Queries, agents []uuid.UUID) (map[uuid.UUID][]coder.WorkspaceAgentLogSource, error) {
	rows, err := q.ResourceLogSourcesOfAgents(ctx, agents)
	if err != nil {
		return nil, err
	}
	out := map[uuid.UUID][]coder.WorkspaceAgentLogSource{}
	for _, r := range rows {
		out[r.AgentID] = append(out[r.AgentID], coder.WorkspaceAgentLogSource{
			CreatedAt: r.CreatedAt, DisplayName: r.DisplayName, Icon: r.Icon, ID: r.ID, WorkspaceAgentID: r.AgentID,
		})
	}
	return out, nil
}
