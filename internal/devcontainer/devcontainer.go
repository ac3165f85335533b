// Package devcontainer keeps the dev containers of a workspace. It knows those
// that the template declares, finds others by the devcontainer.json of git
// repositories, and takes in those that somebody brought up by hand. Each is
// brought up by the devcontainer program, which must be on the PATH; Docker is
// spoken to by its own program. In each that runs an agent is put and held, the
// child of the one that this package serves.
//
// What is shown of a dev container follows from Docker, which is asked when
// `docker events` says that something happened: nothing is polled, and where
// there is no Docker, or no dev container, nothing runs. The agent in a
// container lives as long as the standard input that it was started with, so
// that none is left behind when this process is killed; the next one starts it
// anew, and the server knows it again by its dev container. (AG-21)
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

	"github.com/seed-2a7f8fe7/coder"
)

// Bounds.
const (
	// maxItems is how many dev containers are known at most.
	maxItems = 64
	// upAtOnce is how many are brought up at a time.
	upAtOnce = 2
	// upTimeout bounds how long one may take to come up: images are built.
	upTimeout = 2 * time.Hour
	// calm is how long events of Docker are gathered before it is asked.
	calm = 200 * time.Millisecond
	// fresh is how old an answer of Docker may be for somebody who asks.
	fresh = time.Second
	// rescan is how often repositories are looked through, while somebody asks.
	rescan = 15 * time.Second
)

// Agents are the agents in dev containers, as the server has them. Calls wait for
// the server while it is away, until ctx ends.
type Agents interface {
	// Create makes the agent of a dev container, or changes it, and gives it with
	// a new token.
	Create(ctx context.Context, a NewAgent) (made Agent, token string, err error)
	Delete(ctx context.Context, id uuid.UUID) error
	List(ctx context.Context) ([]Agent, error)
}

// Agent is an agent in a dev container.
type Agent struct {
	ID, DevcontainerID uuid.UUID
	Name               string
}

// NewAgent is what the agent in a dev container shall be.
type NewAgent struct {
	DevcontainerID  uuid.UUID
	Name, Directory string
	Architecture    string
	DisplayApps     []string
	Apps            []coder.WorkspaceApp // in their order
}

// Config is what a Set needs.
type Config struct {
	Log *slog.Logger
	// Say takes lines for people about the dev container of that id and name.
	Say func(id uuid.UUID, name string, level coder.LogLevel, line string)
	// Env is the environment of the programs that are run; the PATH in it says
	// where they are.
	Env []string
	// Dir is below which repositories are looked for.
	Dir string
	// Namespace tells the dev containers of this agent from those of others.
	Namespace uuid.UUID
	// Declared are those of the template, with absolute paths.
	Declared []coder.DeclaredDevcontainer
	// Discover looks for others in repositories; Autostart brings up those of them
	// that ask for it.
	Discover, Autostart bool
	// Agents has the agents in the dev containers, URL is the server as they reach it.
	Agents Agents
	URL    string
	// Executable is the program that becomes the agent in a container, by its
	// subcommand agent; "" for that of this process.
	Executable string
}

// Set is the dev containers of one agent. It is safe for concurrent use.
type Set struct {
	c     Config
	tools tools
	turns chan struct{} // of bringing up

	mu         sync.Mutex
	ctx        context.Context // of Run; nil before
	items      []*item
	containers []coder.WorkspaceAgentContainer
	warning    string // what is wrong with Docker
	scanned    time.Time
	watching   bool // docker events runs
	ended      bool // nothing begins any more
	changed    chan struct{}
	work       sync.WaitGroup

	asking sync.Mutex // one question to Docker at a time
	asked  time.Time
}

// New gives a set that does nothing until Run.
func New(c Config) *Set {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Executable == "" {
		c.Executable, _ = os.Executable() // without one, what needs it says so
	}
	s := &Set{c: c, tools: tools{env: c.Env}, turns: make(chan struct{}, upAtOnce), changed: make(chan struct{})}
	for _, d := range c.Declared[:min(len(c.Declared), maxItems)] {
		s.items = append(s.items, &item{declared: true, shown: coder.WorkspaceAgentDevcontainer{
			ID: d.ID, Name: d.Name, WorkspaceFolder: d.WorkspaceFolder, ConfigPath: d.ConfigPath, Status: coder.WorkspaceAgentDevcontainerStatusStopped,
		}})
	}
	return s
}

// Run brings up what is declared, holds agents in what runs, and returns when
// ctx has ended and all is let go. The containers stay.
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

// begin brings up what is to run and does not.
func (s *Set) begin(ctx context.Context) {
	for _, it := range s.all() {
		s.mu.Lock()
		wanted := !it.busy && it.shown.Status != coder.WorkspaceAgentDevcontainerStatusRunning && !it.ignored && (it.declared || s.c.Autostart && it.autostart)
		s.mu.Unlock()
		if wanted {
			s.bringUp(ctx, it, false)
		}
	}
}

// forgetAgents deletes the agents of an earlier process whose dev containers do
// not run any more.
func (s *Set) forgetAgents(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.warning != "" { // nobody knows what runs
		return
	}
	s.spawn(func() {
		all, err := s.c.Agents.List(ctx)
		if err != nil {
			s.c.Log.Warn("the agents in dev containers could not be listed", "error", err)
			return
		}
		for _, a := range all {
			s.forgetAgent(ctx, a)
		}
	})
}

// forgetAgent deletes an agent whose dev container does not run. Meanwhile that is
// busy: a new agent of it would be the same to the server.
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
		s.c.Log.Warn("the agent of a dev container that is gone could not be deleted", "agent", a.Name, "error", err)
	}
	if it == nil {
		return
	}
	s.mu.Lock()
	it.busy = false
	s.mu.Unlock()
	s.refresh(ctx, 0)
}

// all gives the items as they are now.
func (s *Set) all() []*item {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.items)
}

// spawn runs f beside, unless all ends. The caller holds mu.
func (s *Set) spawn(f func()) {
	if !s.ended {
		s.work.Go(f)
	}
}

// signal wakes whoever watches. The caller holds mu.
func (s *Set) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Changed gives a channel that is closed at the next change.
func (s *Set) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// List asks Docker and looks for new configurations, unless somebody just has,
// and gives what Snapshot does.
func (s *Set) List(ctx context.Context, labels []string) coder.WorkspaceAgentListContainersResponse {
	s.mu.Lock()
	began := s.ctx != nil
	s.mu.Unlock()
	if began && s.tools.find(docker) != "" {
		s.scan(false)
		s.refresh(ctx, fresh)
	}
	return s.Snapshot(labels)
}

// Snapshot gives the containers that have all the labels, key=value or a key each,
// and all dev containers, as they are known.
func (s *Set) Snapshot(labels []string) coder.WorkspaceAgentListContainersResponse {
	out := coder.WorkspaceAgentListContainersResponse{Containers: []coder.WorkspaceAgentContainer{}, Devcontainers: []coder.WorkspaceAgentDevcontainer{}, Warnings: []string{}}
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

func labelled(c coder.WorkspaceAgentContainer, labels []string) bool {
	for _, l := range labels {
		key, value, exact := strings.Cut(l, "=")
		if got, ok := c.Labels[key]; !ok || exact && got != value {
			return false
		}
	}
	return true
}

// operable gives an item that something may be done with now, marked as busy.
// The code of the error is not found, conflict or unavailable.
func (s *Set) operable(id uuid.UUID) (*item, context.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.items, func(it *item) bool { return it.shown.ID == id && !it.ignored })
	switch {
	case i < 0:
		return nil, nil, coder.Errorf(coder.CodeNotFound, "There is no such dev container")
	case s.ctx == nil:
		return nil, nil, coder.Errorf(coder.CodeConflict, "The workspace is still starting; dev containers come after its start scripts")
	case s.ctx.Err() != nil:
		return nil, nil, coder.Errorf(coder.CodeUnavailable, "The agent is stopping")
	case s.items[i].busy:
		return nil, nil, coder.Errorf(coder.CodeConflict, "The dev container %s is %s; wait until that is done", s.items[i].shown.Name, s.items[i].shown.Status)
	}
	return s.items[i], s.ctx, nil
}

// Recreate brings a dev container up anew, from its configuration as it is now;
// it returns as soon as that has begun.
func (s *Set) Recreate(id uuid.UUID) error {
	it, ctx, err := s.operable(id)
	if err != nil {
		return err
	}
	if !s.bringUp(ctx, it, true) {
		return coder.Errorf(coder.CodeConflict, "The dev container %s has just begun something else; wait until that is done", it.shown.Name)
	}
	return nil
}

// Delete removes the container of a dev container, and the agent in it. What is
// declared or found in a repository stays known, and can be brought up again.
func (s *Set) Delete(ctx context.Context, id uuid.UUID) error {
	it, _, err := s.operable(id)
	if err != nil {
		return err
	}
	if !s.take(it, coder.WorkspaceAgentDevcontainerStatusDeleting) {
		return coder.Errorf(coder.CodeConflict, "The dev container %s has just begun something else; wait until that is done", it.shown.Name)
	}
	s.letGo(it)
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
	it.shown.Status, it.shown.Error = coder.WorkspaceAgentDevcontainerStatusStopped, ""
	if err == nil {
		it.shown.Container = nil
		if !it.declared && !it.found { // only its container made it known
			s.items = slices.DeleteFunc(s.items, func(other *item) bool { return other == it })
		}
	}
	s.signal()
	s.mu.Unlock()
	s.refresh(ctx, 0)
	if err != nil {
		return coder.Errorf(coder.CodeUnavailable, "The container could not be removed: %s", err)
	}
	return nil
}

// Supported says whether this system can have dev containers at all.
func Supported() bool { return runtime.GOOS == "linux" }
