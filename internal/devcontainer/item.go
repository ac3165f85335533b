package devcontainer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

// Labels that the devcontainer program puts onto what it brings up.
const (
	labelFolder = "devcontainer.local_folder"
	labelConfig = "devcontainer.config_file"
	// labelCompose is that of Docker Compose.
	labelCompose = "com.docker.compose.project"
)

// item is one dev container. What is in it is guarded by the set's mu.
type item struct {
	shown     coder.WorkspaceAgentDevcontainer
	declared  bool // by the template
	found     bool // in a repository
	ignored   bool // its configuration wants nothing of us
	autostart bool // its configuration wants to be brought up
	busy      bool // being brought up or deleted
	held      *hold
	last      chan struct{} // closed when the last that was held has ended; nil: there was none
}

// hold is an agent that is held in a container.
type hold struct {
	container string
	end       context.CancelFunc
	done      chan struct{}
	forget    bool // the agent goes with it; guarded by the set's mu
}

// show gives what is shown of an item. The caller holds mu.
func (it *item) show() coder.WorkspaceAgentDevcontainer {
	d := it.shown
	if path := it.config(); path != "" && d.Container != nil {
		fi, err := os.Stat(path)
		d.Dirty = err == nil && fi.ModTime().After(d.Container.CreatedAt)
	}
	return d
}

// config gives the path of the configuration, "" when there is none.
func (it *item) config() string {
	if p := it.shown.ConfigPath; p != "" {
		return p
	}
	for _, name := range []string{".devcontainer/devcontainer.json", ".devcontainer.json"} {
		p := filepath.Join(it.shown.WorkspaceFolder, name)
		if fi, err := os.Stat(p); err == nil && fi.Mode().IsRegular() {
			return p
		}
	}
	return ""
}

// take marks an item as busy; false when it is already.
func (s *Set) take(it *item, status coder.WorkspaceAgentDevcontainerStatus) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if it.busy {
		return false
	}
	it.busy, it.shown.Status, it.shown.Error = true, status, ""
	s.signal()
	return true
}

func (s *Set) say(it *item, level coder.LogLevel, line string) {
	if s.c.Say != nil {
		s.c.Say(it.shown.ID, it.shown.Name, level, line) // neither ever changes
	}
}

// failed says why an item does not run.
func (s *Set) failed(it *item, why string) {
	s.say(it, coder.LogLevelError, why)
	s.c.Log.Warn("a dev container does not run", "devcontainer", it.shown.Name, "error", why)
	s.mu.Lock()
	it.busy, it.shown.Status, it.shown.Error = false, coder.WorkspaceAgentDevcontainerStatusError, why
	s.signal()
	s.mu.Unlock()
}

// bringUp begins to bring an item up, with anew in place of the container that
// it has; false when something else is under way with it.
func (s *Set) bringUp(ctx context.Context, it *item, anew bool) bool {
	if !s.take(it, coder.WorkspaceAgentDevcontainerStatusStarting) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spawn(func() {
		select {
		case s.turns <- struct{}{}:
			defer func() { <-s.turns }()
		case <-ctx.Done():
			return
		}
		s.letGo(it)
		if anew { // its name may be another
			s.settle(ctx, it)
		}
		err := s.up(ctx, it, anew)
		if ctx.Err() != nil {
			return
		}
		var partly *partlyError
		if err != nil && !errors.As(err, &partly) {
			s.failed(it, err.Error())
			s.settle(ctx, it)
			return
		}
		s.mu.Lock()
		it.busy = false // it is starting until Docker says that it runs
		if partly != nil {
			it.shown.Error = partly.Error()
		}
		s.signal()
		s.mu.Unlock()
		if partly != nil {
			s.say(it, coder.LogLevelError, partly.Error())
		}
		s.refresh(ctx, 0)
	})
	return true
}

// settle takes the agent of an item that failed away.
func (s *Set) settle(ctx context.Context, it *item) {
	if err := s.forget(ctx, it); err != nil {
		s.c.Log.Warn("the agent of a dev container could not be deleted", "devcontainer", it.shown.Name, "error", err)
	}
}

// up brings an item up and waits for it.
func (s *Set) up(ctx context.Context, it *item, anew bool) error {
	for _, program := range []string{docker, devcontainerCLI} {
		if s.tools.find(program) == "" {
			return errors.New(missing(program))
		}
	}
	folder := it.shown.WorkspaceFolder
	if fi, err := os.Stat(folder); err != nil || !fi.IsDir() {
		return fmt.Errorf("the directory %s is not there; start the dev container again once it is", folder)
	}
	if it.config() == "" {
		return fmt.Errorf("there is no devcontainer.json in %s: neither .devcontainer/devcontainer.json nor .devcontainer.json", folder)
	}
	s.say(it, coder.LogLevelInfo, "The dev container of "+folder+" is brought up")
	ctx, cancel := context.WithTimeout(ctx, upTimeout)
	defer cancel()
	err := s.tools.up(ctx, folder, it.shown.ConfigPath, anew, func(level coder.LogLevel, line string) { s.say(it, level, line) })
	if ctx.Err() == context.DeadlineExceeded {
		return fmt.Errorf("the dev container did not come up within %s", upTimeout)
	}
	return err
}

// forget deletes the agent of an item at the server.
func (s *Set) forget(ctx context.Context, it *item) error {
	s.mu.Lock()
	a := it.shown.Agent
	it.shown.Agent, it.shown.SubagentID = nil, nil
	s.mu.Unlock()
	if a == nil {
		return nil
	}
	return s.c.Agents.Delete(ctx, a.ID)
}

// refresh asks Docker, unless its last answer is younger than that, and does what
// follows from the answer.
func (s *Set) refresh(ctx context.Context, than time.Duration) {
	s.asking.Lock()
	defer s.asking.Unlock()
	if than > 0 && time.Since(s.asked) < than {
		return
	}
	all, err := s.tools.list(ctx)
	if ctx.Err() != nil {
		return
	}
	s.asked = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil { // nobody knows what runs: what is held is held on to
		s.warning = "Docker does not answer: " + err.Error()
		s.signal()
		s.watch()
		return
	}
	s.warning, s.containers = "", all
	s.adopt(all)
	for _, it := range s.items {
		s.see(it, all)
	}
	s.signal()
	s.watch()
}

// adopt takes in dev containers that nothing else says. The caller holds mu.
func (s *Set) adopt(all []coder.WorkspaceAgentContainer) {
	for _, c := range all {
		folder := c.Labels[labelFolder]
		if folder == "" || !c.Running || len(s.items) >= maxItems || slices.ContainsFunc(s.items, func(it *item) bool { return it.is(c) }) {
			continue
		}
		s.items = append(s.items, &item{shown: s.newItem(folder, c.Labels[labelConfig])})
	}
}

func (s *Set) newItem(folder, config string) coder.WorkspaceAgentDevcontainer {
	return coder.WorkspaceAgentDevcontainer{
		ID: uuid.NewSHA1(s.c.Namespace, []byte(folder+"\x00"+config)), Name: filepath.Base(folder), WorkspaceFolder: folder, ConfigPath: config,
		Status: coder.WorkspaceAgentDevcontainerStatusStopped,
	}
}

// is says whether a container is that of an item.
func (it *item) is(c coder.WorkspaceAgentContainer) bool {
	if c.Labels[labelFolder] != it.shown.WorkspaceFolder {
		return false
	}
	config := c.Labels[labelConfig]
	return config == "" || config == it.config()
}

// see makes of an item what Docker says of it. The caller holds mu.
func (s *Set) see(it *item, all []coder.WorkspaceAgentContainer) {
	var mine *coder.WorkspaceAgentContainer
	for i, c := range all {
		if it.is(c) && (mine == nil || c.Running && !mine.Running || c.Running == mine.Running && c.CreatedAt.After(mine.CreatedAt)) {
			mine = &all[i]
		}
	}
	it.shown.Container = mine
	if it.busy || it.ignored {
		return
	}
	if it.shown.Status == coder.WorkspaceAgentDevcontainerStatusError && (mine == nil || !mine.Running) {
		return // why it does not run is worth more than that it does not
	}
	running := mine != nil && mine.Running
	if it.held != nil && (!running || it.held.container != mine.ID) {
		it.held.forget = !running
		it.held.end()
		it.held = nil
	}
	switch {
	case running && it.held == nil && s.ctx != nil && s.ctx.Err() == nil:
		it.shown.Status = coder.WorkspaceAgentDevcontainerStatusRunning
		s.hold(it, *mine)
	case !running && it.shown.Status != coder.WorkspaceAgentDevcontainerStatusStopped:
		it.shown.Status, it.shown.Error = coder.WorkspaceAgentDevcontainerStatusStopped, ""
		it.shown.Agent, it.shown.SubagentID = nil, nil
	}
}

// hold begins to hold an agent in a container, once the one before it has ended.
// The caller holds mu.
func (s *Set) hold(it *item, c coder.WorkspaceAgentContainer) {
	if s.ended {
		return
	}
	ctx, end := context.WithCancel(s.ctx)
	h, before := &hold{container: c.ID, end: end, done: make(chan struct{})}, it.last
	it.held, it.last = h, h.done
	s.spawn(func() {
		defer close(h.done)
		defer end()
		if before != nil {
			<-before
		}
		made := s.attend(ctx, it, c)
		s.mu.Lock()
		forget := h.forget
		s.mu.Unlock()
		if made == uuid.Nil || !forget {
			return
		}
		if err := s.c.Agents.Delete(s.ctx, made); err != nil && s.ctx.Err() == nil {
			s.c.Log.Warn("the agent of a dev container that stopped could not be deleted", "devcontainer", it.shown.Name, "error", err)
		}
	})
}

// letGo ends the agent that is held in an item and waits for that.
func (s *Set) letGo(it *item) {
	s.mu.Lock()
	h := it.held
	it.held = nil
	s.mu.Unlock()
	if h != nil {
		h.end()
		<-h.done
	}
}

// agentName makes a name that an agent may have, of letters, digits and single
// hyphens; "" when nothing is left.
func agentName(s string) string {
	const limit = 32
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
		if b.Len() == limit {
			break
		}
	}
	return strings.TrimSuffix(b.String(), "-")
}
