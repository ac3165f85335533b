package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// connecting is how a command reaches an agent.
type connecting struct {
	noStart bool          // do not start a stopped workspace
	wait    string        // yes, no, or auto: wait for start scripts
	poll    time.Duration // how often the agent is asked about while waiting
	log     *slog.Logger
	what    coder.ConnectionType // what the server shall record; SSH without it
}

// connection is a tunnel to an agent and what is at its other end.
type connection struct {
	*tunnel.Conn
	client    *client.Client
	workspace coder.Workspace
	agent     coder.WorkspaceAgent
}

// connect opens a tunnel to the agent that ref names. A stopped workspace is
// started, and an agent that is not there yet is waited for.
func connect(ctx context.Context, a *app.Run, ref string, how connecting) (*connection, error) {
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

// running gives the workspace once it runs, starting it when that is allowed.
func running(ctx context.Context, a *app.Run, c *client.Client, w coder.Workspace, how connecting) (coder.Workspace, error) {
	w, err := build.Await(ctx, a, c, w)
	if err != nil {
		return w, err
	}
	b := w.LatestBuild
	ok := b.Job.Status == coder.ProvisionerJobStatusSucceeded
	switch {
	case b.Transition == coder.WorkspaceTransitionStart && ok:
		return w, nil
	case b.Transition == coder.WorkspaceTransitionDelete:
		return w, coder.Errorf(coder.CodePrecondition, "the workspace %s is deleted, or was meant to be", w.Name)
	case b.Transition == coder.WorkspaceTransitionStart:
		return w, coder.Errorf(coder.CodePrecondition, "the workspace %s does not run: its last start %s; 'coder logs %s' shows why", w.Name, b.Job.Status, w.Name)
	case how.noStart:
		return w, coder.Errorf(coder.CodePrecondition, "the workspace %s is stopped; start it with 'coder start %s'", w.Name, w.Name)
	case w.DormantAt != nil:
		return w, coder.Errorf(coder.CodePrecondition, "the workspace %s is dormant; wake it with 'coder start %s'", w.Name, w.Name)
	}
	fmt.Fprintf(a.Stderr, "The workspace %s is stopped, starting it.\n", w.Name)
	version := b.TemplateVersionID
	if w.TemplateRequireActiveVersion || w.AutomaticUpdates == coder.AutomaticUpdatesAlways {
		version = w.TemplateActiveVersionID
	}
	req, err := build.StartRequest(ctx, a, c, w, version, &build.Inputs{}, false)
	if err != nil {
		return w, err
	}
	req.Reason = coder.CreateWorkspaceBuildReasonSSHConnection
	if err := build.Run(ctx, a, c, w, req); err != nil {
		return w, err
	}
	return c.Workspace(ctx, w.ID, nil)
}

// pickAgent finds the agent of that name, or the only one.
func pickAgent(w coder.Workspace, name string) (coder.WorkspaceAgent, error) {
	var all []coder.WorkspaceAgent
	var names []string
	for _, r := range w.LatestBuild.Resources {
		for _, agent := range r.Agents {
			if agent.Name == name {
				return agent, nil
			}
			names = append(names, agent.Name)
			if agent.ParentID == nil { // those of dev containers are named by who means them
				all = append(all, agent)
			}
		}
	}
	slices.Sort(names)
	switch {
	case len(all) == 0:
		return coder.WorkspaceAgent{}, coder.Errorf(coder.CodeNotFound, "the workspace %s has no agent, so there is nothing to connect to", w.Name)
	case name != "":
		return coder.WorkspaceAgent{}, coder.Errorf(coder.CodeNotFound, "the workspace %s has no agent %q; it has %s", w.Name, name, strings.Join(names, ", "))
	case len(all) > 1:
		return coder.WorkspaceAgent{}, app.Failure("the workspace %s has several agents; say which: %s.%s", w.Name, w.Name, strings.Join(names, ", "+w.Name+"."))
	}
	return all[0], nil
}

// dial opens the tunnel, and tells what it waits for when that takes long. It
// gives up when the agent has not connected in the time that it may take.
func dial(ctx context.Context, a *app.Run, c *client.Client, agent coder.WorkspaceAgent, how connecting) (*tunnel.Conn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var s *terminal.Spinner
	noDirect := ""
	if a.DisableDirect {
		noDirect = "direct connections are turned off here (--disable-direct-connections)"
	}
	if how.what != "" {
		c = c.Saying(how.what)
	}
	conn, err := tunnel.DialAgent(ctx, c, agent.ID, tunnel.Options{Log: how.log, NoDirect: noDirect, Waiting: func() {
		if s == nil {
			s = a.Spin("Waiting for the agent " + agent.Name + " to connect")
			go watchAgent(ctx, cancel, c, agent.ID, how.poll)
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

// watchAgent ends the waiting when the agent will not come.
func watchAgent(ctx context.Context, end context.CancelCauseFunc, c *client.Client, id uuid.UUID, every time.Duration) {
	if every <= 0 || every > 5*time.Second {
		every = 2 * time.Second
	}
	for app.Pause(ctx, every) == nil {
		agent, err := c.WorkspaceAgent(ctx, id)
		switch {
		case coder.Is(err, coder.CodeNotFound):
			end(coder.Errorf(coder.CodePrecondition, "the workspace was stopped, deleted or built anew"))
		case err == nil && agent.Status == coder.WorkspaceAgentStatusTimeout:
			e := coder.Errorf(coder.CodeUnavailable, "the agent %s has not connected within %d s; look at what the machine it runs on says", agent.Name, agent.ConnectionTimeoutSeconds)
			if agent.TroubleshootingURL != "" {
				e.Detail = "see " + agent.TroubleshootingURL
			}
			end(e)
		}
	}
}

// awaitScripts waits until the start scripts have ended, when logins wait for
// them, and shows what they write.
func awaitScripts(ctx context.Context, a *app.Run, c *client.Client, agent coder.WorkspaceAgent, how connecting) error {
	if how.wait == "no" || how.wait == "auto" && agent.StartupScriptBehavior != coder.WorkspaceAgentStartupScriptBehaviorBlocking {
		return nil
	}
	agent, err := c.WorkspaceAgent(ctx, agent.ID)
	if err != nil || started(agent) {
		return err
	}
	s := a.Spin("Running the start scripts of " + agent.Name)
	logs, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := build.FollowAgent(logs, c, agent.ID, func(lines []coder.WorkspaceAgentLog) {
			for _, l := range lines {
				s.Print("    " + s.Painter.Dim(l.Output))
			}
		})
		if err != nil && logs.Err() == nil && a.Verbose {
			s.Print("The log cannot be followed: " + err.Error())
		}
	}()
	for err == nil && !started(agent) {
		if err = app.Pause(ctx, 500*time.Millisecond); err == nil {
			agent, err = c.WorkspaceAgent(ctx, agent.ID)
		}
	}
	stop()
	<-done
	ok := err == nil && agent.LifecycleState == coder.WorkspaceAgentLifecycleReady
	s.Done(ok)
	if err == nil && !ok {
		fmt.Fprintf(a.Stderr, "The start scripts of %s did not end well (%s); going on without them.\n", agent.Name, strings.ReplaceAll(string(agent.LifecycleState), "_", " "))
	}
	return err
}

// started says that the start of an agent has ended, well or not.
func started(agent coder.WorkspaceAgent) bool {
	return agent.LifecycleState != coder.WorkspaceAgentLifecycleCreated && agent.LifecycleState != coder.WorkspaceAgentLifecycleStarting
}

// lost says why a tunnel is gone, when err only says that a stream ended.
func (c *connection) lost(err error) error {
	if why := c.Err(); why != nil {
		return fmt.Errorf("the connection to %s is lost: %w", c.workspace.Name, why)
	}
	return errors.Join(errors.New("the session ended without a word"), err)
}
