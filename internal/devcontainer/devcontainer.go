// Package devcontainer manages the dev containers of a workspace. It knows
// those that the template declares, discovers others by the devcontainer.json
// of git repositories, and adopts those that a user started by hand. The
// devcontainer CLI, which must be on the PATH, starts them; Docker is used
// through its CLI. Each running dev container gets an agent, which is a child
// of the workspace's agent.
//
// The state of a dev container is derived from Docker, which is queried after
// each event of `docker events`. Nothing is polled, and without Docker or dev
// containers nothing runs. The agent in a container exits with its standard
// input, so none is left behind when this process is killed. The next process
// starts it again, and the server recognizes it by its dev container. (AG-21)
package devcontainer

import (
	"context"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Bounds of dev containers.
const (
	// maxItems bounds the known dev containers.
	maxItems = 64
	// upAtOnce bounds the dev containers that are started concurrently.
	upAtOnce = 2
	// upTimeout bounds the start of one dev container, which may build images.
	upTimeout = 2 * time.Hour
	// calm is the period in which Docker events are batched.
	calm = 200 * time.Millisecond
	// fresh is the maximum age of a state that is returned without a new query
	// of Docker.
	fresh = time.Second
	// rescan is the minimum interval between scans of repositories.
	rescan = 15 * time.Second
)

// Agents manages the agents in dev containers on the server. Calls wait for an
// unreachable server until ctx ends.
type Agents interface {
	// Create creates or updates the agent of a dev container, and returns it
	// with a new token.
	Create(ctx context.Context, a NewAgent) (made Agent, token string, err error)
	Delete(ctx context.Context, id uuid.UUID) error
	List(ctx context.Context) ([]Agent, error)
}

// Agent is the agent of a dev container.
type Agent struct {
	ID, DevcontainerID uuid.UUID
	Name               string
}

// NewAgent describes the agent of a dev container to create.
type NewAgent struct {
	DevcontainerID  uuid.UUID
	Name, Directory string
	Architecture    string
	DisplayApps     []string
	Apps            []codersdk.WorkspaceApp // in display order
}

// Config configures a Set.
type Config struct {
	Log *slog.Logger
	// Say receives log lines for users about the dev container with that ID and
	// name.
	Say func(id uuid.UUID, name string, level codersdk.LogLevel, line string)
	// Env is the environment of the programs; its PATH locates them.
	Env []string
	// Dir is the directory below which repositories are discovered.
	Dir string
	// Namespace distinguishes the dev containers of this agent from those of
	// others.
	Namespace uuid.UUID
	// Declared lists the dev containers of the template, with absolute paths.
	Declared []codersdk.DeclaredDevcontainer
	// Discover searches repositories for dev containers; Autostart starts those
	// of them that request it.
	Discover, Autostart bool
	// Agents manages the agents in the dev containers; URL is the server's URL
	// inside them.
	Agents Agents
	URL    string
	// Executable is the program that runs the agent in a container, with the
	// subcommand agent; "" means that of this process.
	Executable string
}

// Set manages the dev containers of one agent. It is safe for concurrent use.
type Set struct {
	c     Config
	tools tools
	turns chan struct{} // semaphore of upAtOnce

	mu         sync.Mutex
	ctx        context.Context // of Run; nil before Run
	items      []*item
	containers []codersdk.WorkspaceAgentContainer
	warning    string // problem with Docker, for users
	scanned    time.Time
	watching   bool // docker events is running
	ended      bool // nothing may be started
	changed    chan struct{}
	work       sync.WaitGroup

	asking sync.Mutex // serializes queries of Docker
	asked  time.Time
}

// New returns a set that does nothing until Run.
func New(c Config) *Set {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Executable == "" {
		c.Executable, _ = os.Executable() // if unknown, copying the agent fails with an error
	}
	s := &Set{c: c, tools: tools{env: c.Env}, turns: make(chan struct{}, upAtOnce), changed: make(chan struct{})}
	for _, d := range c.Declared[:min(len(c.Declared), maxItems)] {
		s.items = append(s.items, &item{declared: true, shown: codersdk.WorkspaceAgentDevcontainer{
			ID: d.ID, Name: d.Name, WorkspaceFolder: d.WorkspaceFolder, ConfigPath: d.ConfigPath, Status: codersdk.WorkspaceAgentDevcontainerStatusStopped,
		}})
	}
	return s
}

// Run starts the declared dev containers, runs agents in the running ones, and
// returns when ctx has ended and all agents have exited. The containers keep
// running.
func (s *Set) Run(ctx context.Context) {
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.ended = true
		s.mu.Unlock()
		s.work.Wait()
	}()
	if s.tools.find(docker) == "" {
		for _, it := range s.all() {
			s.failed(it, missing(docker))
		}
		<-ctx.Done()
		return
	}
	s.scan(true)
	if len(s.all()) > 0 {
		s.refresh(ctx, 0)
		s.begin(ctx)
	}
	s.forgetAgents(ctx)
	<-ctx.Done()
}

// begin starts the dev containers that should run.
func (s *Set) begin(ctx context.Context) {
	for _, it := range s.all() {
		s.mu.Lock()
		wanted := !it.busy && it.shown.Status != codersdk.WorkspaceAgentDevcontainerStatusRunning && !it.ignored && (it.declared || s.c.Autostart && it.autostart)
		s.mu.Unlock()
		if wanted {
			s.bringUp(ctx, it, false)
		}
	}
}

// forgetAgents deletes agents of an earlier process whose dev containers no
// longer run.
func (s *Set) forgetAgents(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.warning != "" { // the running containers are unknown
		return
	}
	s.spawn(func() {
		all, err := s.c.Agents.List(ctx)
		if err != nil {
			s.c.Log.Warn("cannot list the agents of dev containers", "error", err)
			return
		}
		for _, a := range all {
			s.forgetAgent(ctx, a)
		}
	})
}

// forgetAgent deletes an agent whose dev container is not running. The dev
// container is busy meanwhile, because a new agent would have the same identity
// on the server.
func (s *Set) forgetAgent(ctx context.Context, a Agent) {
	s.mu.Lock()
	i := slices.IndexFunc(s.items, func(it *item) bool { return it.shown.ID == a.DevcontainerID })
	var it *item
	if i >= 0 {
		it = s.items[i]
		if it.busy || it.held != nil {
			s.mu.Unlock()
			return
		}
		it.busy = true
	}
	s.mu.Unlock()
	if err := s.c.Agents.Delete(ctx, a.ID); err != nil {
		s.c.Log.Warn("cannot delete the agent of a removed dev container", "agent", a.Name, "error", err)
	}
	if it == nil {
		return
	}
	s.mu.Lock()
	it.busy = false
	s.mu.Unlock()
	s.refresh(ctx, 0)
}

// all returns the current items.
func (s *Set) all() []*item {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.items)
}

// spawn runs f in a goroutine, unless the set has ended. The caller holds mu.
func (s *Set) spawn(f func()) {
	if !s.ended {
		s.work.Go(f)
	}
}

// signal wakes the watchers. The caller holds mu.
func (s *Set) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Changed returns a channel that is closed at the next change.
func (s *Set) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// List queries Docker and discovers new configurations, unless that just
// happened, and returns the result of Snapshot.
func (s *Set) List(ctx context.Context, labels []string) codersdk.WorkspaceAgentListContainersResponse {
	s.mu.Lock()
	began := s.ctx != nil
	s.mu.Unlock()
	if began && s.tools.find(docker) != "" {
		s.scan(false)
		s.refresh(ctx, fresh)
	}
	return s.Snapshot(labels)
}

// Snapshot returns the known state of all dev containers, and of the containers
// that have all the labels. A label is key=value or a key.
func (s *Set) Snapshot(labels []string) codersdk.WorkspaceAgentListContainersResponse {
	out := codersdk.WorkspaceAgentListContainersResponse{
		Containers:    []codersdk.WorkspaceAgentContainer{},
		Devcontainers: []codersdk.WorkspaceAgentDevcontainer{},
		Warnings:      []string{},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.containers {
		if labelled(c, labels) {
			out.Containers = append(out.Containers, c)
		}
	}
	for _, it := range s.items {
		if !it.ignored {
			out.Devcontainers = append(out.Devcontainers, it.show())
		}
	}
	if s.warning != "" {
		out.Warnings = append(out.Warnings, s.warning)
	}
	if len(out.Devcontainers) > 0 && s.tools.find(docker) != "" && s.tools.find(devcontainerCLI) == "" {
		out.Warnings = append(out.Warnings, missing(devcontainerCLI))
	}
	return out
}

func labelled(c codersdk.WorkspaceAgentContainer, labels []string) bool {
	for _, l := range labels {
		key, value, exact := strings.Cut(l, "=")
		if got, ok := c.Labels[key]; !ok || exact && got != value {
			return false
		}
	}
	return true
}

// operable marks an item as busy and returns it. The error has the code not
// found, conflict or unavailable.
func (s *Set) operable(id uuid.UUID) (*item, context.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.items, func(it *item) bool { return it.shown.ID == id && !it.ignored })
	switch {
	case i < 0:
		return nil, nil, codersdk.Errorf(codersdk.CodeNotFound, "Dev container not found")
	case s.ctx == nil:
		return nil, nil, codersdk.Errorf(codersdk.CodeConflict, "The workspace is still starting; dev containers start after its start scripts")
	case s.ctx.Err() != nil:
		return nil, nil, codersdk.Errorf(codersdk.CodeUnavailable, "The agent is stopping")
	case s.items[i].busy:
		return nil, nil, codersdk.Errorf(codersdk.CodeConflict, "Dev container %s is %s; try again when that is done", s.items[i].shown.Name, s.items[i].shown.Status)
	}
	return s.items[i], s.ctx, nil
}

// Recreate starts to rebuild a dev container from its current configuration,
// and returns immediately.
func (s *Set) Recreate(id uuid.UUID) error {
	it, ctx, err := s.operable(id)
	if err != nil {
		return err
	}
	if !s.bringUp(ctx, it, true) {
		return codersdk.Errorf(codersdk.CodeConflict, "Another operation on dev container %s has just started; try again when that is done", it.shown.Name)
	}
	return nil
}

// Delete removes the container of a dev container and its agent. Declared and
// discovered dev containers remain known and can be started again.
func (s *Set) Delete(ctx context.Context, id uuid.UUID) error {
	it, _, err := s.operable(id)
	if err != nil {
		return err
	}
	if !s.markBusy(it, codersdk.WorkspaceAgentDevcontainerStatusDeleting) {
		return codersdk.Errorf(codersdk.CodeConflict, "Another operation on dev container %s has just started; try again when that is done", it.shown.Name)
	}
	s.stopAgent(it)
	s.mu.Lock()
	c := it.shown.Container
	s.mu.Unlock()
	if c != nil {
		err = s.tools.remove(ctx, *c)
	}
	if err == nil {
		err = s.forget(ctx, it)
	}
	s.mu.Lock()
	it.busy = false
	it.shown.Status, it.shown.Error = codersdk.WorkspaceAgentDevcontainerStatusStopped, ""
	if err == nil {
		it.shown.Container = nil
		if !it.declared && !it.found { // it was known from its container only
			s.items = slices.DeleteFunc(s.items, func(other *item) bool { return other == it })
		}
	}
	s.signal()
	s.mu.Unlock()
	s.refresh(ctx, 0)
	if err != nil {
		return codersdk.Errorf(codersdk.CodeUnavailable, "Cannot remove the container: %s", err)
	}
	return nil
}

// Supported reports whether this system supports dev containers.
func Supported() bool { return runtime.GOOS == "linux" }
