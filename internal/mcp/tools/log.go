package tools

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/toolkit"
)

// logTools are the tools that read logs.
var logTools = []Tool{
	toolkit.New(toolkit.Spec{
		Name: "coder_get_workspace_build_logs", Title: "Read the log of a workspace build",
		Description: "Read the last lines of the log of a build: of a workspace's latest build, or of the build with an ID.",
		Scopes:      []codersdk.APIKeyScope{"workspace:read"},
	}, getWorkspaceBuildLogs),
	toolkit.New(toolkit.Spec{
		Name: "coder_get_workspace_agent_logs", Title: "Read the log of a workspace agent",
		Description: "Read the last lines of an agent's log, with the output of the start scripts.",
		Scopes:      []codersdk.APIKeyScope{"workspace:read"},
	}, getWorkspaceAgentLogs),
	toolkit.New(toolkit.Spec{
		Name: "coder_get_template_version_logs", Title: "Read the log of a template import",
		Description: "Read the last lines of the log of a template version's import.",
		Scopes:      []codersdk.APIKeyScope{"template:read"},
	}, getTemplateVersionLogs),
}

// Bounds of a log that a tool returns.
const (
	maxLogLine  = 2000     // bytes
	maxLogBytes = 64 << 10 // of all lines
)

// tail is the part of a log that a tool returns.
type tail struct {
	Lines int `json:"lines,omitempty" jsonschema:"Maximum number of lines" min:"1" max:"1000" default:"200"`
}

type logLine struct {
	at                    time.Time
	level, stage, message string
}

// text returns the last lines as text.
func (t tail) text(lines []logLine) string {
	omitted := max(0, len(lines)-t.Lines)
	shown := make([]string, 0, len(lines)-omitted)
	size := 0
	for i := len(lines) - 1; i >= omitted; i-- {
		l := lines[i]
		text := fmt.Sprintf("%s %s", l.at.UTC().Format(time.TimeOnly), l.level)
		if l.stage != "" {
			text += " [" + l.stage + "]"
		}
		text += " " + toolkit.Truncate(l.message, maxLogLine)
		if size += len(text) + 1; size > maxLogBytes {
			omitted = i + 1
			break
		}
		shown = append(shown, text)
	}
	var b strings.Builder
	if omitted > 0 {
		fmt.Fprintf(&b, "(%d earlier lines omitted)\n", omitted)
	}
	for i := len(shown) - 1; i >= 0; i-- {
		b.WriteString(shown[i])
		b.WriteByte('\n')
	}
	if b.Len() == 0 {
		return "The log is empty."
	}
	return b.String()
}

func jobLines(logs []codersdk.ProvisionerJobLog) []logLine {
	out := make([]logLine, len(logs))
	for i, l := range logs {
		out[i] = logLine{l.CreatedAt, string(l.LogLevel), l.Stage, l.Output}
	}
	return out
}

type buildLogsInput struct {
	Workspace string `json:"workspace,omitempty" jsonschema:"Workspace as name, owner/name or ID. Required without build_id" max:"160"`
	BuildID   string `json:"build_id,omitempty" jsonschema:"ID of the build (default: the workspace's latest build)" max:"36"`
	tail
}

func getWorkspaceBuildLogs(ctx context.Context, c *Caller, in buildLogsInput) (string, error) {
	id, err := optionalID("build_id", in.BuildID)
	if err != nil {
		return "", err
	}
	if id == uuid.Nil {
		t, err := findWorkspace(ctx, c, in.Workspace)
		if err != nil {
			return "", err
		}
		id = t.workspace.LatestBuild.ID
	}
	logs, err := c.Client.WorkspaceBuildLogs(ctx, id, nil)
	return in.text(jobLines(logs)), err
}

type agentLogsInput struct {
	inWorkspace
	tail
}

func getWorkspaceAgentLogs(ctx context.Context, c *Caller, in agentLogsInput) (string, error) {
	t, err := findWorkspace(ctx, c, in.Workspace)
	if err != nil {
		return "", err
	}
	agent, err := t.oneAgent()
	if err != nil {
		return "", err
	}
	logs, err := c.Client.WorkspaceAgentLogs(ctx, agent.ID, nil)
	lines := make([]logLine, len(logs))
	for i, l := range logs {
		lines[i] = logLine{at: l.CreatedAt, level: string(l.Level), message: l.Output}
	}
	return in.text(lines), err
}

type versionLogsInput struct {
	inVersion
	tail
}

func getTemplateVersionLogs(ctx context.Context, c *Caller, in versionLogsInput) (string, error) {
	id, err := parseID("template_version_id", in.TemplateVersionID)
	if err != nil {
		return "", err
	}
	logs, err := c.Client.TemplateVersionLogs(ctx, id, nil)
	return in.text(jobLines(logs)), err
}
