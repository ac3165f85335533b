package devcontainer

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// Delays before an agent that exited is started again.
const (
	firstWait = time.Second
	lastWait  = 5 * time.Minute
	// steady is the minimum run time after which the delay is short again.
	steady = time.Minute
)

// errIgnored is returned when the configuration disables the agent.
var errIgnored = errors.New("ignored")

// attend runs an agent in a running container until ctx ends. It returns the
// agent's ID, or uuid.Nil when the agent was never created.
func (s *Set) attend(ctx context.Context, it *item, c codersdk.WorkspaceAgentContainer) (made uuid.UUID) {
	for wait := (lifecycle.Backoff{First: firstWait, Limit: lastWait}); ; {
		began := time.Now()
		err := s.attendOnce(ctx, it, c, func(a Agent, directory string) {
			made = a.ID
			s.mu.Lock()
			defer s.mu.Unlock()
			if ctx.Err() != nil { // the container has just stopped
				return
			}
			it.shown.Agent = &codersdk.WorkspaceAgentDevcontainerAgent{ID: a.ID, Name: a.Name, Directory: directory}
			it.shown.SubagentID = &a.ID
			it.exited = ""
			s.signal()
		})
		s.refresh(ctx, 0) // cancels ctx if the container stopped
		s.mu.Lock()
		if ctx.Err() != nil {
			s.mu.Unlock()
			return made
		}
		if errors.Is(err, errIgnored) {
			it.ignored = true
		} else {
			it.exited = err.Error()
		}
		s.signal()
		s.mu.Unlock()
		if errors.Is(err, errIgnored) {
			return made
		}
		s.writeLog(it, codersdk.LogLevelWarn, err.Error())
		if time.Since(began) > steady {
			wait.Reset()
		}
		if !wait.Sleep(ctx) {
			return made
		}
	}
}

// attendOnce creates an agent for a container and runs it until it exits; up is
// called once the server knows the agent. The error is never nil.
func (s *Set) attendOnce(ctx context.Context, it *item, c codersdk.WorkspaceAgentContainer, up func(Agent, string)) error {
	name := agentName(filepath.Base(it.shown.WorkspaceFolder))
	if name == "" {
		name = "devcontainer"
	}
	conf, err := s.tools.read(ctx, it.shown.WorkspaceFolder, it.shown.ConfigPath, []string{
		"CONTAINER_ID=" + c.ID, "CODER_WORKSPACE_AGENT_NAME=" + name, "CODER_URL=" + s.c.URL,
		"CODER_WORKSPACE_PARENT_AGENT_NAME=" + s.tools.variable("CODER_WORKSPACE_AGENT_NAME"),
	})
	if err != nil {
		return err
	}
	own := conf.custom()
	if own.ignore {
		return errIgnored
	}
	if n := agentName(own.name); n != "" {
		name = n
	}
	for _, bad := range own.refused {
		s.writeLog(it, codersdk.LogLevelWarn, bad)
	}
	if err := s.tools.copyAgent(ctx, c.ID, s.c.Executable); err != nil {
		return err
	}
	made, token, err := s.c.Agents.Create(ctx, NewAgent{
		DevcontainerID: it.shown.ID, Name: name, Directory: conf.folder(), Architecture: runtime.GOARCH, DisplayApps: own.displayApps, Apps: own.apps,
	})
	if err != nil {
		return err
	}
	up(made, conf.folder())
	s.writeLog(it, codersdk.LogLevelInfo, "Agent "+made.Name+" is running in the container")
	return s.tools.serve(ctx, c.ID, conf.user(), []string{
		"CODER_AGENT_TOKEN=" + token, "CODER_AGENT_URL=" + s.c.URL, "CODER_AGENT_DEVCONTAINERS_ENABLE=false", "CODER_AGENT_DEBUG_ADDRESS=",
	}, conf.Merged.RemoteEnv)
}
