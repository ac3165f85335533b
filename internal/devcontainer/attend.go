package devcontainer

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

// How long it takes until an agent that ended is started again.
const (
	firstWait = time.Second
	lastWait  = 5 * time.Minute
	// steady is how long one must have run for the wait to be short again.
	steady = time.Minute
)

// errIgnored says that the configuration wants no agent.
var errIgnored = errors.New("ignored")

// attend holds an agent in a running container until ctx ends, and gives its id,
// uuid.Nil when it never came about.
func (s *Set) attend(ctx context.Context, it *item, c coder.WorkspaceAgentContainer) (made uuid.UUID) {
	said := ""
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		began := time.Now()
		err := s.attendOnce(ctx, it, c, func(a Agent, directory string) {
			made = a.ID
			s.mu.Lock()
			defer s.mu.Unlock()
			if ctx.Err() != nil { // the container has just gone
				return
			}
			it.shown.Agent = &coder.WorkspaceAgentDevcontainerAgent{ID: a.ID, Name: a.Name, Directory: directory}
			it.shown.SubagentID = &a.ID
			if it.shown.Error == said {
				it.shown.Error = ""
			}
			s.signal()
		})
		s.refresh(ctx, 0) // which ends ctx if it was the container that ended
		s.mu.Lock()
		if ctx.Err() != nil {
			s.mu.Unlock()
			return made
		}
		if errors.Is(err, errIgnored) {
			it.ignored = true
		} else {
			said = err.Error()
			it.shown.Error = said
		}
		s.signal()
		s.mu.Unlock()
		if errors.Is(err, errIgnored) {
			return made
		}
		s.say(it, coder.LogLevelWarn, said)
		if time.Since(began) > steady {
			wait = firstWait
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return made
		}
	}
}

// attendOnce puts an agent into a container and serves it until it ends; up is
// told once the server has it. The error is never nil.
func (s *Set) attendOnce(ctx context.Context, it *item, c coder.WorkspaceAgentContainer, up func(Agent, string)) error {
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
		s.say(it, coder.LogLevelWarn, bad)
	}
	if err := s.tools.put(ctx, c.ID, s.c.Executable); err != nil {
		return err
	}
	made, token, err := s.c.Agents.Create(ctx, NewAgent{
		DevcontainerID: it.shown.ID, Name: name, Directory: conf.folder(), Architecture: runtime.GOARCH, DisplayApps: own.displayApps, Apps: own.apps,
	})
	if err != nil {
		return err
	}
	up(made, conf.folder())
	s.say(it, coder.LogLevelInfo, "The agent "+made.Name+" runs in the container")
	return s.tools.serve(ctx, c.ID, conf.user(), []string{
		"CODER_AGENT_TOKEN=" + token, "CODER_AGENT_URL=" + s.c.URL, "CODER_AGENT_DEVCONTAINERS_ENABLE=false", "CODER_AGENT_DEBUG_ADDRESS=",
	}, conf.Merged.RemoteEnv)
}
