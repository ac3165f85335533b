package tools

import (
	"context"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/toolkit"
)

// maxCommandTime is the longest time that a command may take. The tool itself has
// more, to connect and to return the output so far.
const maxCommandTime = 5 * time.Minute

// maxOutput is the maximum size of a command's output in bytes.
const maxOutput = 64 << 10

// reach are the scopes to connect to a workspace.
var reach = []codersdk.APIKeyScope{"workspace:read", "workspace:ssh"}

// commandTools are the tools that run commands in a workspace.
var commandTools = []Tool{
	toolkit.New(toolkit.Spec{
		Name: "coder_workspace_bash", Title: "Run a command in a workspace",
		Description: "Run a command in the shell of a running workspace, in the home directory or the directory of the agent. " +
			"Returns the exit code and the output of at most 64 KiB. Commands must not wait for input.",
		Effect: toolkit.Destructive, OpenWorld: true, Timeout: maxCommandTime + time.Minute,
		Scopes: reach,
	}, workspaceBash),
}

type bashInput struct {
	inWorkspace
	Command string `json:"command" jsonschema:"Command line for the user's shell" min:"1" max:"32768"`
	Timeout int    `json:"timeout_ms,omitempty" jsonschema:"Milliseconds after which the command is ended" min:"100" max:"300000" default:"60000"`
}

type bashOutput struct {
	ExitCode int    `json:"exit_code"` // -1 when the command was ended
	TimedOut bool   `json:"timed_out,omitempty"`
	Output   string `json:"output"`
}

func workspaceBash(ctx context.Context, c *Caller, in bashInput) (bashOutput, error) {
	m, err := c.dial(ctx, in.Workspace)
	if err != nil {
		return bashOutput{}, err
	}
	defer m.Close() //nolint:errcheck // the command has ended
	ctx, cancel := context.WithTimeout(ctx, time.Duration(in.Timeout)*time.Millisecond)
	defer cancel()
	got, err := m.Run(ctx, in.Command, maxOutput)
	return bashOutput{ExitCode: got.ExitCode, TimedOut: got.TimedOut, Output: got.Output}, err
}
