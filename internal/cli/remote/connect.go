package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
	"github.com/seed-2a7f8fe7/coder/internal/rule/handedover"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// connecting configures how a command connects to an agent.
type connecting struct {
	noStart bool          // do not start a stopped workspace
	wait    string        // yes, no or auto: wait for startup scripts
	poll    time.Duration // interval between agent status requests while waiting
	log     *slog.Logger
	what    codersdk.ConnectionType // type in the connection log; "" means SSH
	hint    string                  // shown while the agent is not connected; "" means none
}

// connection is a tunnel to an agent, with the workspace and agent.
type connection struct {
	*tunnel.Conn
	client    *codersdk.Client
	workspace codersdk.Workspace
	agent     codersdk.WorkspaceAgent
}

// connect opens a tunnel to the agent that ref names. It starts a stopped
// workspace and waits for an agent that is not connected yet.
func connect(ctx context.Context, a *command.Run, ref string, how connecting) (*connection, error) {
	c, err := a.Client(ctx)
	if err != nil {
		return nil, err
	}
	w, name, err := build.Workspace(ctx, a, c, ref)
	if err != nil {
		return nil, err
	}
	if w, err = running(ctx, a, c, w, how); err != nil {
		return nil, err
	}
	agent, err := pickAgent(w, name)
	if err != nil {
		return nil, err
	}
	if slices.Contains(build.ExternalAgents(w), agent.Name) {
		how.hint = fmt.Sprintf("Agent %s is external: 'coder external-workspaces agent-instructions %s' prints the command that starts it.",
			agent.Name, ref)
	}
	conn, err := dial(ctx, a, c, agent, how)
	if err != nil {
		return nil, err
	}
	out := &connection{Conn: conn, client: c, workspace: w, agent: agent}
	if err := awaitScripts(ctx, a, c, agent, how); err != nil {
		conn.Close() //nolint:errcheck // the first error says more
		return nil, err
	}
	return out, nil
}

// running returns the workspace once it is running. It starts the workspace if
// that is allowed.
func running(ctx context.Context, a *command.Run, c *codersdk.Client, w codersdk.Workspace, how connecting) (codersdk.Workspace, error) {
	if handedover.Serves(w.LatestBuild) { // its build goes on, or failed, behind the agents
		return w, nil
	}
	w, err := build.Await(ctx, a, c, w)
	if err != nil {
		return w, err
	}
	b := w.LatestBuild
	ok := b.Job.Status == codersdk.ProvisionerJobStatusSucceeded
	switch {
	case b.Transition == codersdk.WorkspaceTransitionStart && ok:
		return w, nil
	case b.Transition == codersdk.WorkspaceTransitionDelete:
		return w, codersdk.Errorf(codersdk.CodePrecondition, "workspace %s is deleted or is being deleted", w.Name)
	case b.Transition == codersdk.WorkspaceTransitionStart:
		return w, codersdk.Errorf(
			codersdk.CodePrecondition,
			"workspace %s is not running: its last start %s; 'coder logs %s' shows why",
			w.Name,
			b.Job.Status,
			w.Name,
		)
	case how.noStart:
		return w, codersdk.Errorf(codersdk.CodePrecondition, "workspace %s is stopped; start it with 'coder start %s'", w.Name, w.Name)
	case w.DormantAt != nil:
		return w, codersdk.Errorf(codersdk.CodePrecondition, "workspace %s is dormant; activate it with 'coder start %s'", w.Name, w.Name)
	}
	fmt.Fprintf(a.Stderr, "Workspace %s is stopped. Starting it.\n", w.Name)
	version := b.TemplateVersionID
	if w.TemplateRequireActiveVersion || w.AutomaticUpdates == codersdk.AutomaticUpdatesAlways {
		version = w.TemplateActiveVersionID
	}
	req, err := build.Starter{App: a, Client: c, Inputs: &build.Inputs{}}.Request(ctx, w, version)
	if err != nil {
		return w, err
	}
	req.Reason = codersdk.CreateWorkspaceBuildReasonSSHConnection
	if err := build.Run(ctx, a, c, w, req); err != nil {
		return w, err
	}
	return c.Workspace(ctx, w.ID, nil)
}

// pickAgent returns the agent with that name, or the only agent.
func pickAgent(w codersdk.Workspace, name string) (codersdk.WorkspaceAgent, error) {
	var all []codersdk.WorkspaceAgent
	var names []string
	for _, r := range w.LatestBuild.Resources {
		for _, agent := range r.Agents {
			if agent.Name == name {
				return agent, nil
			}
			names = append(names, agent.Name)
			if agent.ParentID == nil { // dev container agents are selected by name only
				all = append(all, agent)
			}
		}
	}
	slices.Sort(names)
	switch {
	case len(all) == 0:
		return codersdk.WorkspaceAgent{}, codersdk.Errorf(codersdk.CodeNotFound, "workspace %s has no agent to connect to", w.Name)
	case name != "":
		return codersdk.WorkspaceAgent{}, codersdk.Errorf(codersdk.CodeNotFound, "workspace %s has no agent %q; it has %s", w.Name, name, strings.Join(names, ", "))
	case len(all) > 1:
		return codersdk.WorkspaceAgent{}, command.Failure(
			"workspace %s has several agents; select one of %s.%s",
			w.Name,
			w.Name,
			strings.Join(names, ", "+w.Name+"."),
		)
	}
	return all[0], nil
}

// dial opens the tunnel and shows a spinner when that takes long. It fails when
// the agent does not connect within its connection timeout.
func dial(ctx context.Context, a *command.Run, c *codersdk.Client, agent codersdk.WorkspaceAgent, how connecting) (*tunnel.Conn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var s *terminal.Spinner
	noDirect := ""
	if a.DisableDirect {
		noDirect = "direct connections are disabled on this machine (--disable-direct-connections)"
	}
	if how.what != "" {
		c = c.Saying(how.what)
	}
	conn, err := tunnel.DialAgent(ctx, c, agent.ID, tunnel.Options{Log: how.log, NoDirect: noDirect, Waiting: func() {
		if s == nil {
			s = a.Spin("Waiting for agent " + agent.Name + " to connect")
			w := &agentWatch{client: c, agent: agent.ID, every: how.poll, patient: how.wait == "yes", hint: how.hint, now: a.Now, report: s.Print, end: cancel}
			go w.run(ctx)
		}
	}})
	if s != nil {
		s.Done(err == nil)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return nil, cause
	}
	return conn, err
}

// awaitScripts waits for the startup scripts, if they block the login, and
// shows their output.
func awaitScripts(ctx context.Context, a *command.Run, c *codersdk.Client, agent codersdk.WorkspaceAgent, how connecting) error {
	if how.wait == "no" || how.wait == "auto" && agent.StartupScriptBehavior != codersdk.WorkspaceAgentStartupScriptBehaviorBlocking {
		return nil
	}
	agent, err := c.WorkspaceAgent(ctx, agent.ID)
	if err != nil || started(agent) {
		return err
	}
	s := a.Spin("Running the startup scripts of " + agent.Name)
	logs, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := build.FollowAgent(logs, c, agent.ID, func(lines []codersdk.WorkspaceAgentLog) {
			for _, l := range lines {
				s.Print("    " + s.Painter.Dim(l.Output))
			}
		})
		if err != nil && logs.Err() == nil && a.Verbose {
			s.Print("Cannot follow the log: " + err.Error())
		}
	}()
	for err == nil && !started(agent) {
		if err = command.Pause(ctx, 500*time.Millisecond); err == nil {
			agent, err = c.WorkspaceAgent(ctx, agent.ID)
		}
	}
	stop()
	<-done
	ok := err == nil && agent.LifecycleState == codersdk.WorkspaceAgentLifecycleReady
	s.Done(ok)
	if err == nil && !ok {
		fmt.Fprintf(a.Stderr, "The startup scripts of %s did not succeed (%s); continuing.\n", agent.Name, strings.ReplaceAll(string(agent.LifecycleState), "_", " "))
	}
	return err
}

// started reports whether the start of an agent has ended, successfully or not.
func started(agent codersdk.WorkspaceAgent) bool {
	return agent.LifecycleState != codersdk.WorkspaceAgentLifecycleCreated && agent.LifecycleState != codersdk.WorkspaceAgentLifecycleStarting
}

// lost returns the reason why a tunnel ended, when err only reports the end of
// a stream.
func (c *connection) lost(err error) error {
	if why := c.Err(); why != nil {
		return fmt.Errorf("lost connection to %s: %w", c.workspace.Name, why)
	}
	return errors.Join(errors.New("the session ended without an exit status"), err)
}
