package tools

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/toolkit"
)

// workspaceTools are the tools on workspaces.
var workspaceTools = []Tool{
	toolkit.New(toolkit.Spec{
		Name: "coder_list_workspaces", Title: "List workspaces",
		Description: "List workspaces with their status. Without a query or an owner it lists the workspaces of the signed-in user.",
		Scopes:      []codersdk.APIKeyScope{"workspace:read"},
	}, listWorkspaces),
	toolkit.New(toolkit.Spec{
		Name: "coder_get_workspace", Title: "Get a workspace",
		Description: "Get a workspace with its latest build, agents and apps.",
		Scopes:      []codersdk.APIKeyScope{"workspace:read"},
	}, getWorkspace),
}

// inWorkspace names a workspace.
type inWorkspace struct {
	Workspace string `json:"workspace" jsonschema:"Workspace as name, owner/name or ID. For one of several agents: name.agent" min:"1" max:"160"`
}

// workspaceView is a workspace, as a tool shows it.
type workspaceView struct {
	ID           uuid.UUID                `json:"id"`
	Name         string                   `json:"name"`
	Owner        string                   `json:"owner"`
	Organization string                   `json:"organization"`
	Template     string                   `json:"template"`
	Status       codersdk.WorkspaceStatus `json:"status"`
	Healthy      bool                     `json:"healthy"`
	Outdated     bool                     `json:"outdated"`
	LastUsedAt   time.Time                `json:"last_used_at"`
	StopsAt      *time.Time               `json:"stops_at,omitempty"`
	DormantAt    *time.Time               `json:"dormant_at,omitempty"`
	// Build and Agents are in the view of one workspace, not in lists.
	TemplateID *uuid.UUID  `json:"template_id,omitempty"`
	Build      *buildView  `json:"latest_build,omitempty"`
	Agents     []agentView `json:"agents,omitempty"`
}

// buildView is a build of a workspace, as a tool shows it.
type buildView struct {
	ID                  uuid.UUID                     `json:"id"`
	Number              int32                         `json:"number"`
	Transition          codersdk.WorkspaceTransition  `json:"transition"`
	Status              codersdk.ProvisionerJobStatus `json:"job_status"`
	Error               string                        `json:"error,omitempty"`
	Warning             string                        `json:"warning,omitempty"`
	QueuePosition       int                           `json:"queue_position,omitempty"`
	TemplateVersionID   uuid.UUID                     `json:"template_version_id"`
	TemplateVersionName string                        `json:"template_version_name"`
	Initiator           string                        `json:"initiator"`
	CreatedAt           time.Time                     `json:"created_at"`
	CompletedAt         *time.Time                    `json:"completed_at,omitempty"`
}

// agentView is an agent of a workspace, as a tool shows it.
type agentView struct {
	ID        uuid.UUID                        `json:"id"`
	Name      string                           `json:"name"`
	Status    codersdk.WorkspaceAgentStatus    `json:"status"`
	Lifecycle codersdk.WorkspaceAgentLifecycle `json:"lifecycle"`
	OS        string                           `json:"os"`
	Arch      string                           `json:"arch"`
	Directory string                           `json:"directory,omitempty"`
	Apps      []appView                        `json:"apps,omitempty"`
}

// appView is an app of an agent, as a tool shows it.
type appView struct {
	Slug   string                      `json:"slug"`
	Name   string                      `json:"name,omitempty"`
	Health codersdk.WorkspaceAppHealth `json:"health"`
}

func viewWorkspace(w codersdk.Workspace) workspaceView {
	return workspaceView{
		ID: w.ID, Name: w.Name, Owner: w.OwnerName, Organization: w.OrganizationName, Template: w.TemplateName,
		Status: w.LatestBuild.Status, Healthy: w.Health.Healthy, Outdated: w.Outdated,
		LastUsedAt: w.LastUsedAt, StopsAt: w.LatestBuild.Deadline, DormantAt: w.DormantAt,
	}
}

func viewBuild(b codersdk.WorkspaceBuild) buildView {
	return buildView{
		ID: b.ID, Number: b.BuildNumber, Transition: b.Transition, Status: b.Job.Status, Warning: b.ProvisionerWarning,
		Error: toolkit.Truncate(b.Job.Error, 4<<10), QueuePosition: b.Job.QueuePosition,
		TemplateVersionID: b.TemplateVersionID, TemplateVersionName: b.TemplateVersionName,
		Initiator: b.InitiatorName, CreatedAt: b.CreatedAt, CompletedAt: b.Job.CompletedAt,
	}
}

func viewAgents(b codersdk.WorkspaceBuild) (out []agentView) {
	for _, r := range b.Resources {
		for _, a := range r.Agents {
			v := agentView{
				ID: a.ID, Name: a.Name, Status: a.Status, Lifecycle: a.LifecycleState, OS: a.OperatingSystem, Arch: a.Architecture,
				Directory: a.ExpandedDirectory,
			}
			for _, app := range a.Apps {
				v.Apps = append(v.Apps, appView{Slug: app.Slug, Name: app.DisplayName, Health: app.Health})
			}
			out = append(out, v)
		}
	}
	return out
}

// viewOneWorkspace returns the view of one workspace, with its build and agents.
func viewOneWorkspace(w codersdk.Workspace) workspaceView {
	v, b := viewWorkspace(w), viewBuild(w.LatestBuild)
	v.TemplateID, v.Build, v.Agents = &w.TemplateID, &b, viewAgents(w.LatestBuild)
	return v
}

type listWorkspacesInput struct {
	Owner string `json:"owner,omitempty" jsonschema:"Username of the owner; me for the signed-in user" max:"64"`
	Query string `json:"query,omitempty" jsonschema:"Search such as: status:running template:docker name:dev" max:"1000"`
	page
}

type listWorkspacesOutput struct {
	Count      int             `json:"count"` // of all matches
	Workspaces []workspaceView `json:"workspaces"`
}

func listWorkspaces(ctx context.Context, c *Caller, in listWorkspacesInput) (listWorkspacesOutput, error) {
	search := in.Query
	switch {
	case in.Owner != "":
		search += " owner:" + strconv.Quote(in.Owner)
	case search == "":
		search = "owner:me"
	}
	got, err := c.Client.Workspaces(ctx, in.query(search))
	out := listWorkspacesOutput{Count: got.Count, Workspaces: []workspaceView{}}
	for _, w := range got.Workspaces {
		out.Workspaces = append(out.Workspaces, viewWorkspace(w))
	}
	return out, err
}

func getWorkspace(ctx context.Context, c *Caller, in inWorkspace) (workspaceView, error) {
	t, err := findWorkspace(ctx, c, in.Workspace)
	return viewOneWorkspace(t.workspace), err
}
