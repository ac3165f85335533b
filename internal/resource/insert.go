// Package resource stores the results of builds and imports: the resources, the agents in them, and
// the apps of those agents.
//
// Insert writes the resources that a provisioner reported, in the transaction that completes its job,
// with a few COPY statements whatever the number of resources. Load reads the resources of any number
// of jobs with five queries. It computes the status and health of every agent at the time of reading,
// because neither is stored.
//
// Names of agents and slugs of apps are part of URLs and host names, so both are unique within a job,
// case-insensitively. Insert rejects duplicates.
package resource

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Options of Insert.
type Options struct {
	Now time.Time // creation time of the resources
	// Preview is true for the planned resources of an import or a dry run. Their agents get no
	// token.
	Preview bool
	// Vault encrypts the tokens that KeepTokens keeps, and those of external agents.
	Vault *dbcrypt.Vault
	// KeepTokens keeps the tokens of agents, beside their hashes.
	KeepTokens bool
	// Adopt keeps the agents that were transferred to the job, see Stock.
	Adopt bool
}

// Insert stores the resources of a job. q is the transaction that completes the job. A CodeInvalid
// error explains what the template must change.
func Insert(ctx context.Context, q *sqlc.Queries, jobID uuid.UUID, transition codersdk.WorkspaceTransition, rs []*provisioner.Resource, o Options) error {
	b := batch{Options: o, agents: map[string]bool{}, slugs: map[string]bool{}}
	for i, r := range rs {
		if err := b.addResource(jobID, transition, i, r); err != nil {
			return err
		}
	}
	if o.Adopt {
		if err := b.adopt(ctx, q, jobID); err != nil {
			return err
		}
	}
	return b.insert(ctx, q)
}

// insert writes the rows.
func (b *batch) insert(ctx context.Context, q *sqlc.Queries) error {
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
	if len(b.tokenRows) > 0 {
		if _, err := q.ResourceInsertAgentToken(ctx, b.tokenRows); err != nil {
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

// batch collects the rows of one Insert and the names that must be unique.
type batch struct {
	Options
	agents, slugs map[string]bool

	resourceRows []sqlc.ResourceInsertParams
	agentRows    []sqlc.ResourceInsertAgentParams
	tokenRows    []sqlc.ResourceInsertAgentTokenParams
	appRows      []sqlc.ResourceInsertAppParams
	sourceRows   []sqlc.ResourceInsertLogSourceParams
}

func (b *batch) addResource(jobID uuid.UUID, transition codersdk.WorkspaceTransition, position int, r *provisioner.Resource) error {
	row := sqlc.ResourceInsertParams{
		ID: uuid.New(), JobID: jobID, Transition: string(transition), Type: r.Type, Name: r.Name,
		Hide: r.Hide, Icon: r.Icon, DailyCost: r.DailyCost, ModulePath: r.ModulePath,
		Metadata: []codersdk.WorkspaceResourceMetadata{}, Position: int32(position), CreatedAt: b.Now,
	}
	if r.InstanceType != "" {
		row.Metadata = append(row.Metadata, codersdk.WorkspaceResourceMetadata{Key: "type", Value: r.InstanceType})
	}
	for _, m := range r.Metadata {
		if !m.IsNull {
			row.Metadata = append(row.Metadata, codersdk.WorkspaceResourceMetadata{Key: m.Key, Value: m.Value, Sensitive: m.Sensitive})
		}
	}
	b.resourceRows = append(b.resourceRows, row)
	for _, a := range r.Agents {
		if err := b.addAgent(row, a); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) addAgent(r sqlc.ResourceInsertParams, a *provisioner.Agent) error {
	if key := strings.ToLower(a.Name); b.agents[key] {
		return codersdk.Errorf(codersdk.CodeInvalid, "Two agents are named %q; names of coder_agent resources must be unique", a.Name)
	} else if a.Name == "" {
		return codersdk.Errorf(codersdk.CodeInvalid, "A coder_agent of the template has no name; set its name")
	} else {
		b.agents[key] = true
	}
	token, err := b.token(a)
	if err != nil {
		return err
	}
	row := sqlc.ResourceInsertAgentParams{
		ID: uuid.New(), ResourceID: r.ID, Name: a.Name, InstanceID: a.GetInstanceId(),
		OperatingSystem: a.OperatingSystem, Architecture: a.Architecture, Directory: a.Directory,
		Environment: environment(a), MotdFile: a.MotdFile, TroubleshootingUrl: a.TroubleshootingUrl,
		ConnectionTimeoutSeconds: max(0, a.ConnectionTimeoutSeconds), DisplayApps: displayApps(a.DisplayApps),
		Scripts: []codersdk.WorkspaceAgentScript{}, MetadataItems: metadata(a), ApiKeyScope: a.ApiKeyScope,
		Position: int32(a.Order), CreatedAt: b.Now, UpdatedAt: b.Now,
		ResourceMonitors: monitors(a), Devcontainers: devcontainers(a),
	}
	if token != nil {
		b.setToken(&row, *token, r.Type == "coder_external_agent")
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

// token parses the token that Terraform stored in the workspace.
func (b *batch) token(a *provisioner.Agent) (*uuid.UUID, error) {
	if b.Preview || a.GetToken() == "" {
		return nil, nil
	}
	t, err := uuid.Parse(a.GetToken())
	if err != nil {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "The token of agent %q was not created by coder_agent", a.Name)
	}
	return &t, nil
}

// setToken stores the hash of a token, and the token where the server must return it.
func (b *batch) setToken(row *sqlc.ResourceInsertAgentParams, token uuid.UUID, external bool) {
	row.TokenHash = dbcrypt.HashAgentToken(token)
	switch {
	case !b.Vault.Ready():
		row.Token = &token
	case external || b.KeepTokens:
		sealed, digest := b.Vault.SealAgentToken(row.ID, token)
		b.tokenRows = append(b.tokenRows, sqlc.ResourceInsertAgentTokenParams{AgentID: row.ID, Token: sealed, KeyID: digest})
	}
}

func environment(a *provisioner.Agent) map[string]string {
	env := map[string]string{}
	maps.Copy(env, a.Env)
	for _, e := range a.ExtraEnvs {
		env[e.Name] = e.Value
	}
	return env
}

func metadata(a *provisioner.Agent) []codersdk.WorkspaceAgentMetadataDescription {
	items := slices.Clone(a.Metadata)
	slices.SortStableFunc(items, func(x, y *provisioner.Agent_Metadata) int { return int(x.Order - y.Order) })
	out := []codersdk.WorkspaceAgentMetadataDescription{}
	for _, m := range items {
		out = append(out, codersdk.WorkspaceAgentMetadataDescription{
			DisplayName: m.DisplayName, Key: m.Key, Script: m.Script, Interval: m.Interval, Timeout: m.Timeout,
		})
	}
	return out
}

func displayApps(d *provisioner.DisplayApps) []string {
	out := []string{}
	add := func(on bool, app codersdk.DisplayApp) {
		if on {
			out = append(out, string(app))
		}
	}
	add(d.GetVscode(), codersdk.DisplayAppVSCode)
	add(d.GetVscodeInsiders(), codersdk.DisplayAppVSCodeInsiders)
	add(d.GetWebTerminal(), codersdk.DisplayAppWebTerminal)
	add(d.GetSshHelper(), codersdk.DisplayAppSSHHelper)
	add(d.GetPortForwardingHelper(), codersdk.DisplayAppPortForwardingHelper)
	return out
}

func newScript(s *provisioner.Script) codersdk.WorkspaceAgentScript {
	return codersdk.WorkspaceAgentScript{
		ID: uuid.New(), LogSourceID: uuid.New(), DisplayName: s.DisplayName, Script: s.Script, Cron: s.Cron,
		RunOnStart: s.RunOnStart, RunOnStop: s.RunOnStop, StartBlocksLogin: s.StartBlocksLogin,
		LogPath: s.LogPath, Timeout: time.Duration(s.TimeoutSeconds) * time.Second,
	}
}

func (b *batch) addApp(agentID uuid.UUID, agent string, a *provisioner.App) error {
	if key := strings.ToLower(a.Slug); b.slugs[key] {
		return codersdk.Errorf(codersdk.CodeInvalid, "Two apps have the slug %q; slugs of coder_app resources must be unique", a.Slug)
	} else if a.Slug == "" {
		return codersdk.Errorf(codersdk.CodeInvalid, "A coder_app of agent %q has no slug; set its slug", agent)
	} else {
		b.slugs[key] = true
	}
	row := sqlc.ResourceInsertAppParams{
		ID: uuid.New(), AgentID: agentID, Slug: a.Slug, DisplayName: a.DisplayName, Icon: a.Icon,
		Command: a.Command, URL: a.Url, External: a.External, Subdomain: a.Subdomain,
		SharingLevel: sharingLevel(a.SharingLevel), OpenIn: openIn(a.OpenIn), AppGroup: a.Group, Tooltip: a.Tooltip,
		Hidden: a.Hidden, Position: int32(a.Order), Health: string(codersdk.WorkspaceAppHealthDisabled), CreatedAt: b.Now,
	}
	if row.DisplayName == "" {
		row.DisplayName = a.Slug
	}
	if h := a.Healthcheck; h.GetUrl() != "" {
		row.HealthcheckUrl, row.HealthcheckInterval, row.HealthcheckThreshold = h.Url, h.Interval, h.Threshold
		row.Health = string(codersdk.WorkspaceAppHealthInitializing)
	}
	b.appRows = append(b.appRows, row)
	return nil
}

func sharingLevel(l provisioner.AppSharingLevel) string {
	switch l {
	case provisioner.AppSharingLevel_AUTHENTICATED:
		return string(codersdk.WorkspaceAppSharingLevelAuthenticated)
	case provisioner.AppSharingLevel_PUBLIC:
		return string(codersdk.WorkspaceAppSharingLevelPublic)
	}
	return string(codersdk.WorkspaceAppSharingLevelOwner)
}

func openIn(o provisioner.AppOpenIn) string {
	if o == provisioner.AppOpenIn_TAB {
		return string(codersdk.WorkspaceAppOpenInTab)
	}
	return string(codersdk.WorkspaceAppOpenInSlimWindow)
}
