package resource

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Stock is what a finished job created: the agents that run, with their apps.
type Stock struct {
	resources []sqlc.WorkspaceResource
	agents    []sqlc.WorkspaceAgent
	apps      []sqlc.WorkspaceApp
	sources   []sqlc.WorkspaceAgentLogSource
}

// TakeStock reads the resources of a job. The agents in dev containers are left out: a
// new owner's agent starts others.
func TakeStock(ctx context.Context, q *sqlc.Queries, jobID uuid.UUID) (Stock, error) {
	var s Stock
	var err error
	if s.resources, err = q.ResourcesOfJobs(ctx, []uuid.UUID{jobID}); err != nil {
		return s, err
	}
	if s.agents, err = q.ResourceAgentsOfJobs(ctx, []uuid.UUID{jobID}); err != nil {
		return s, err
	}
	s.agents = slices.DeleteFunc(s.agents, func(a sqlc.WorkspaceAgent) bool { return a.ParentID != nil })
	ids := make([]uuid.UUID, len(s.agents))
	for i, a := range s.agents {
		ids[i] = a.ID
	}
	if s.apps, err = q.ResourceAppsOfAgents(ctx, ids); err != nil {
		return s, err
	}
	s.sources, err = q.ResourceLogSourcesOfAgents(ctx, ids)
	return s, err
}

// Transferable reports whether the agents can become those of another job: there is one,
// each has a token of its own, and none runs on a machine that no build made.
func (s Stock) Transferable() bool {
	return len(s.agents) > 0 &&
		!slices.ContainsFunc(s.resources, func(r sqlc.WorkspaceResource) bool { return r.Type == "coder_external_agent" }) &&
		!slices.ContainsFunc(s.agents, func(a sqlc.WorkspaceAgent) bool { return len(a.TokenHash) == 0 || a.InstanceID != "" })
}

// Transfer inserts the resources for another job that has none. The agents there are
// new ones, which have never connected, with the tokens of the old ones: from the commit
// on, a token authenticates the new agent.
func (s Stock) Transfer(ctx context.Context, q *sqlc.Queries, jobID uuid.UUID, now time.Time) error {
	var b batch
	resources, agents := map[uuid.UUID]uuid.UUID{}, map[uuid.UUID]uuid.UUID{}
	for _, r := range s.resources {
		resources[r.ID] = uuid.New()
		b.resourceRows = append(b.resourceRows, sqlc.ResourceInsertParams{
			ID: resources[r.ID], JobID: jobID, Transition: r.Transition, Type: r.Type, Name: r.Name, Hide: r.Hide, Icon: r.Icon,
			DailyCost: r.DailyCost, ModulePath: r.ModulePath, Metadata: r.Metadata, Position: r.Position, CreatedAt: now,
		})
	}
	for _, a := range s.agents {
		agents[a.ID] = uuid.New()
		b.agentRows = append(b.agentRows, sqlc.ResourceInsertAgentParams{
			ID: agents[a.ID], ResourceID: resources[a.ResourceID], Name: a.Name, Token: a.Token, TokenHash: a.TokenHash, InstanceID: a.InstanceID,
			OperatingSystem: a.OperatingSystem, Architecture: a.Architecture, Directory: a.Directory, Environment: a.Environment,
			MotdFile: a.MotdFile, TroubleshootingUrl: a.TroubleshootingUrl, ConnectionTimeoutSeconds: a.ConnectionTimeoutSeconds,
			DisplayApps: a.DisplayApps, Scripts: a.Scripts, MetadataItems: a.MetadataItems, ApiKeyScope: a.ApiKeyScope,
			Position: a.Position, CreatedAt: now, UpdatedAt: now, ResourceMonitors: declaredMonitors(a.ResourceMonitors), Devcontainers: a.Devcontainers,
		})
	}
	for _, a := range s.apps {
		health := codersdk.WorkspaceAppHealthDisabled
		if a.HealthcheckUrl != "" {
			health = codersdk.WorkspaceAppHealthInitializing
		}
		b.appRows = append(b.appRows, sqlc.ResourceInsertAppParams{
			ID: uuid.New(), AgentID: agents[a.AgentID], Slug: a.Slug, DisplayName: a.DisplayName, Icon: a.Icon, Command: a.Command, URL: a.URL,
			External: a.External, Subdomain: a.Subdomain, SharingLevel: a.SharingLevel, OpenIn: a.OpenIn, AppGroup: a.AppGroup, Tooltip: a.Tooltip,
			Hidden: a.Hidden, Position: a.Position, HealthcheckUrl: a.HealthcheckUrl, HealthcheckInterval: a.HealthcheckInterval,
			HealthcheckThreshold: a.HealthcheckThreshold, Health: string(health), CreatedAt: now,
		})
	}
	declared := map[uuid.UUID]bool{}
	for _, a := range s.agents {
		for _, x := range a.Scripts {
			declared[x.LogSourceID] = true
		}
	}
	for _, x := range s.sources {
		if declared[x.ID] {
			b.sourceRows = append(b.sourceRows, sqlc.ResourceInsertLogSourceParams{
				ID: x.ID, AgentID: agents[x.AgentID], DisplayName: x.DisplayName, Icon: x.Icon, CreatedAt: now,
			})
		}
	}
	return b.insert(ctx, q)
}

// adopt lets the rows of the batch replace the resources that were transferred to its
// job. An agent with the same name and token keeps its identity, its connection and its
// logs, and so do its unchanged scripts and its apps.
func (b *batch) adopt(ctx context.Context, q *sqlc.Queries, jobID uuid.UUID) error {
	s, err := TakeStock(ctx, q, jobID)
	if err != nil || len(s.resources) == 0 {
		return err
	}
	kept := map[uuid.UUID]uuid.UUID{} // IDs of agents that run, by the ID in the batch
	rows := b.agentRows
	b.agentRows = nil
	var update []sqlc.ResourceAdoptAgentParams
	for _, r := range rows {
		i := slices.IndexFunc(s.agents, func(a sqlc.WorkspaceAgent) bool {
			return strings.EqualFold(a.Name, r.Name) && len(a.TokenHash) > 0 && bytes.Equal(a.TokenHash, r.TokenHash)
		})
		if i < 0 {
			b.agentRows = append(b.agentRows, r)
			continue
		}
		kept[r.ID] = s.agents[i].ID
		keepState(&r, s.agents[i])
		b.keepScripts(r.ID, r.Scripts, s.agents[i].Scripts)
		update = append(update, sqlc.ResourceAdoptAgentParams{
			ID: s.agents[i].ID, ResourceID: r.ResourceID, OperatingSystem: r.OperatingSystem, Architecture: r.Architecture, Directory: r.Directory,
			Environment: r.Environment, MotdFile: r.MotdFile, TroubleshootingUrl: r.TroubleshootingUrl,
			ConnectionTimeoutSeconds: r.ConnectionTimeoutSeconds, DisplayApps: r.DisplayApps, Scripts: r.Scripts, MetadataItems: r.MetadataItems,
			ApiKeyScope: r.ApiKeyScope, Position: r.Position, UpdatedAt: r.UpdatedAt, ResourceMonitors: r.ResourceMonitors, Devcontainers: r.Devcontainers,
		})
	}
	for i, x := range b.sourceRows {
		if id, ok := kept[x.AgentID]; ok {
			b.sourceRows[i].AgentID = id
		}
	}
	if len(b.resourceRows) > 0 {
		if _, err := q.ResourceInsert(ctx, b.resourceRows); err != nil {
			return err
		}
		b.resourceRows = nil
	}
	for _, u := range update {
		if err := q.ResourceAdoptAgent(ctx, u); err != nil {
			return err
		}
	}
	if err := b.adoptApps(ctx, q, s.apps, kept); err != nil {
		return err
	}
	old := make([]uuid.UUID, len(s.resources))
	for i, r := range s.resources {
		old[i] = r.ID
	}
	return q.ResourceDrop(ctx, old)
}

// keepState keeps what an agent reported of its unchanged monitors, and the IDs of its
// unchanged dev containers.
func keepState(r *sqlc.ResourceInsertAgentParams, before sqlc.WorkspaceAgent) {
	if slices.Equal(declaredMonitors(before.ResourceMonitors), r.ResourceMonitors) {
		r.ResourceMonitors = before.ResourceMonitors
	}
	if slices.EqualFunc(before.Devcontainers, r.Devcontainers, sameDevcontainer) {
		r.Devcontainers = before.Devcontainers
	}
}

// sameDevcontainer reports whether two declarations differ in IDs only.
func sameDevcontainer(a, b codersdk.DeclaredDevcontainer) bool {
	for _, d := range []*codersdk.DeclaredDevcontainer{&a, &b} {
		d.ID, d.Scripts = uuid.Nil, slices.Clone(d.Scripts)
		for i := range d.Scripts {
			d.Scripts[i].ID, d.Scripts[i].LogSourceID = uuid.Nil, uuid.Nil
		}
	}
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// keepScripts sets the IDs of unchanged scripts of an agent to those of before, and drops
// the rows of their log sources, which exist.
func (b *batch) keepScripts(agent uuid.UUID, scripts, before []codersdk.WorkspaceAgentScript) {
	for i, s := range scripts {
		if i >= len(before) {
			return
		}
		was := before[i]
		was.ID, was.LogSourceID = s.ID, s.LogSourceID
		if was != s {
			continue
		}
		scripts[i] = before[i]
		b.sourceRows = slices.DeleteFunc(b.sourceRows, func(r sqlc.ResourceInsertLogSourceParams) bool {
			return r.AgentID == agent && r.ID == s.LogSourceID
		})
	}
}

// adoptApps updates the apps of kept agents, and deletes those that are no longer declared.
func (b *batch) adoptApps(ctx context.Context, q *sqlc.Queries, before []sqlc.WorkspaceApp, kept map[uuid.UUID]uuid.UUID) error {
	rows := b.appRows
	b.appRows = nil
	agents, apps := []uuid.UUID{}, []uuid.UUID{}
	var update []sqlc.ResourceAdoptAppParams
	for _, id := range kept {
		agents = append(agents, id)
	}
	for _, r := range rows {
		if id, ok := kept[r.AgentID]; ok {
			r.AgentID = id
		}
		i := slices.IndexFunc(before, func(a sqlc.WorkspaceApp) bool { return a.AgentID == r.AgentID && strings.EqualFold(a.Slug, r.Slug) })
		if i < 0 {
			b.appRows = append(b.appRows, r)
			continue
		}
		apps = append(apps, before[i].ID)
		update = append(update, sqlc.ResourceAdoptAppParams{
			ID: before[i].ID, Slug: r.Slug, DisplayName: r.DisplayName, Icon: r.Icon, Command: r.Command, URL: r.URL, External: r.External,
			Subdomain: r.Subdomain, SharingLevel: r.SharingLevel, OpenIn: r.OpenIn, AppGroup: r.AppGroup, Tooltip: r.Tooltip, Hidden: r.Hidden,
			Position: r.Position, HealthcheckUrl: r.HealthcheckUrl, Health: r.Health, HealthcheckInterval: r.HealthcheckInterval,
			HealthcheckThreshold: r.HealthcheckThreshold,
		})
	}
	if err := q.ResourceDropApps(ctx, agents, apps); err != nil {
		return err
	}
	for _, u := range update {
		if err := q.ResourceAdoptApp(ctx, u); err != nil {
			return err
		}
	}
	return nil
}
