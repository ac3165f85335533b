// Package mcpcmd is the command group "exp mcp": a server of the Model Context
// Protocol (MCP) over standard input and output, and the configuration of
// programs that start it.
//
// The tools are those of package tools, for the stored session or the token of
// the command line. Inside a workspace the server also reports the status of a
// coding agent, with the token of the workspace's agent.
package mcpcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/cli/mcpcmd/configure"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/toolkit"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/tools"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Command returns the command mcp.
func Command(a *command.Run) *command.Command {
	return &command.Command{
		Name:  "mcp",
		Short: "Let programs use workspaces and templates through the Model Context Protocol",
		Subs:  []*command.Command{serverCommand(a), configure.Command(a)},
	}
}

// serverOptions holds the flags of mcp server.
type serverOptions struct {
	instructions, statusSlug string
	allowed                  []string
}

func serverCommand(a *command.Run) *command.Command {
	var o serverOptions
	return &command.Command{
		Name: "server", Max: 0, Signals: true,
		Short: "Serve the Model Context Protocol on standard input and output",
		Long: "Programs such as coding agents start this command. Its tools act for the signed-in user, within the scopes and " +
			"the allow list of the token.",
		Examples: []command.Example{
			{Text: "Serve two tools only", Line: "coder exp mcp server --allowed-tools coder_list_workspaces,coder_get_workspace"},
		},
		Options: []*option.Option{
			option.List(&o.allowed, "allowed-tools", "Names of the tools to serve, separated by commas (default: all)").Env("CODER_MCP_ALLOWED_TOOLS"),
			option.String(&o.instructions, "instructions", "Instructions for the model that uses the tools").Env("CODER_MCP_INSTRUCTIONS"),
			option.String(&o.statusSlug, "app-status-slug", "App whose status coder_report_task sets, in a workspace").Env("CODER_MCP_APP_STATUS_SLUG"),
		},
		Run: func(ctx context.Context, _ []string) error { return o.serve(ctx, a) },
	}
}

func (o *serverOptions) serve(ctx context.Context, a *command.Run) error {
	ctx, stop := command.Interruptible(ctx)
	defer stop()
	all, caller, err := o.tools(ctx, a)
	if err != nil {
		return err
	}
	allowed, unknown := toolkit.Allowed(all, o.allowed)
	if len(unknown) > 0 {
		fmt.Fprintf(a.Stderr, "warning: --allowed-tools: no such tools: %s\n", strings.Join(unknown, ", "))
	}
	if len(allowed) == 0 {
		return command.Failure("--allowed-tools: none of the names is the name of a tool")
	}
	instructions := o.instructions
	if instructions == "" {
		instructions = tools.Instructions
	}
	s := toolkit.NewServer(toolkit.Options{Name: "coder", Title: "Coder", Version: codersdk.Version(), Instructions: instructions}, allowed, caller)
	streams := newStream(ctx, a.Stdin, a.Raw)
	err = s.Run(ctx, &mcp.IOTransport{Reader: streams, Writer: streams})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// tools returns the tools of the user's session, and in a workspace, with an app for
// the status, the tool of the workspace's agent. One of the two is enough.
func (o *serverOptions) tools(ctx context.Context, a *command.Run) ([]tools.Tool, *tools.Caller, error) {
	var all []tools.Tool
	if o.statusSlug != "" && a.Env["CODER_AGENT_TOKEN"] != "" {
		report, err := reportTool(a, o.statusSlug)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, report)
	}
	c, err := a.Client(ctx)
	switch {
	case err == nil:
	case len(all) > 0 && codersdk.Is(err, codersdk.CodeUnauthenticated):
		return all, &tools.Caller{}, nil
	default:
		return nil, nil, err
	}
	caller := &tools.Caller{Client: c, AccessURL: c.URL}
	if a.DisableDirect {
		caller.NoDirect = "direct connections are disabled on this machine (--disable-direct-connections)"
	}
	return append(all, tools.All()...), caller, nil
}
