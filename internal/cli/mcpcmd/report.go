package mcpcmd

import (
	"context"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/toolkit"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/tools"
)

// reportTool returns the tool with which a coding agent in a workspace reports what
// it does. It uses the token of the workspace's agent. slug names the app that has
// the status.
func reportTool(a *command.Run, slug string) (tools.Tool, error) {
	server, err := command.ParseServer(a.Env["CODER_AGENT_URL"])
	if err != nil {
		return tools.Tool{}, err
	}
	c := codersdk.New(server)
	c.SessionToken = a.Env["CODER_AGENT_TOKEN"]
	return toolkit.New(toolkit.Spec{
		Name: "coder_report_task", Title: "Report the progress of a task",
		Description: "Report what you are doing, so that the user sees it in the dashboard. Report at the start of a task, after each " +
			"larger step, and at its end.",
		Effect: toolkit.Additive,
	}, func(ctx context.Context, _ *tools.Caller, in reportInput) (string, error) {
		err := c.PatchAppStatus(ctx, codersdk.PatchAppStatus{
			AppSlug: slug, Message: in.Summary, URI: in.Link, State: codersdk.WorkspaceAppStatusState(in.State),
		})
		if err != nil {
			return "", err
		}
		return "The status is reported.", nil
	}), nil
}

type reportInput struct {
	Summary string `json:"summary" jsonschema:"What you do or have done, in a short sentence" min:"1" max:"160"`
	Link    string `json:"link" jsonschema:"URL of something related, such as a pull request; empty for none" max:"2048"`
	State   string `json:"state" jsonschema:"working; idle when you need the user; complete; failure when you cannot go on" enum:"working,idle,complete,failure"`
}
