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

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Labels that the devcontainer CLI adds to its containers.
const (
	labelFolder = "devcontainer.local_folder"
	labelConfig = "devcontainer.config_file"
	// labelCompose is a label of Docker Compose.
	labelCompose = "com.docker.compose.project"
)

// item is one dev container. Its fields are guarded by the set's mu.
type item struct {
	shown     codersdk.WorkspaceAgentDevcontainer
	declared  bool // declared by the template
	found     bool // discovered in a repository
	ignored   bool // its configuration disables the agent
	autostart bool // its configuration requests autostart
	busy      bool // starting or being deleted
	held      *hold
	exited    string        // why the agent exited, until it runs again
	last      chan struct{} // closed when the last agent has exited; nil without one
}

// hold is a running agent in a container.
type hold struct {
	container string
	end       context.CancelFunc
	done      chan struct{}
	forget    bool // delete the agent when it exits; guarded by the set's mu
}

// show returns the public state of an item. The caller holds mu.
func (it *item) show() codersdk.WorkspaceAgentDevcontainer {
	d := it.shown
	if d.Error != "" && it.exited != "" {
		d.Error += "; "
	}
	d.Error += it.exited
	if path := it.config(); path != "" && d.Container != nil {
		fi, err := os.Stat(path)
		d.Dirty = err == nil && fi.ModTime().After(d.Container.CreatedAt)
	}
	return d
}

// config returns the path of the configuration, or "".
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

// markBusy marks an item as busy. It returns false if the item is already busy.
func (s *Set) markBusy(it *item, status codersdk.WorkspaceAgentDevcontainerStatus) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if it.busy {
		return false
	}
	it.busy, it.shown.Status, it.shown.Error = true, status, ""
	s.signal()
	return true
}

// writeLog writes a line to the log of an item.
func (s *Set) writeLog(it *item, level codersdk.LogLevel, line string) {
	if s.c.Say != nil {
		s.c.Say(it.shown.ID, it.shown.Name, level, line) // ID and name never change
	}
}

// failed records the reason why an item does not run.
func (s *Set) failed(it *item, why string) {
	s.writeLog(it, codersdk.LogLevelError, why)
	s.c.Log.Warn("dev container is not running", "devcontainer", it.shown.Name, "error", why)
	s.mu.Lock()
	it.busy, it.shown.Status, it.shown.Error = false, codersdk.WorkspaceAgentDevcontainerStatusError, why
	s.signal()
	s.mu.Unlock()
}

// bringUp starts an item in the background; replace replaces an existing
// container. It returns false if another operation is in progress.
func (s *Set) bringUp(ctx context.Context, it *item, replace bool) bool {
	if !s.markBusy(it, codersdk.WorkspaceAgentDevcontainerStatusStarting) {
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
		s.stopAgent(it)
		if replace { // the agent name may change
			s.deleteFailedAgent(ctx, it)
		}
		err := s.up(ctx, it, replace)
		if ctx.Err() != nil {
			return
		}
		var partly *partlyError
		if err != nil && !errors.As(err, &partly) {
			s.failed(it, err.Error())
			s.deleteFailedAgent(ctx, it)
			return
		}
		s.mu.Lock()
		it.busy = false // the status stays starting until Docker reports the container
		if partly != nil {
			it.shown.Error = partly.Error()
		}
		s.signal()
		s.mu.Unlock()
		if partly != nil {
			s.writeLog(it, codersdk.LogLevelError, partly.Error())
		}
		s.refresh(ctx, 0)
	})
	return true
}

// deleteFailedAgent deletes the agent of a failed item.
func (s *Set) deleteFailedAgent(ctx context.Context, it *item) {
	if err := s.forget(ctx, it); err != nil {
		s.c.Log.Warn("cannot delete the agent of a dev container", "devcontainer", it.shown.Name, "error", err)
	}
}

// up starts an item and waits for it.
func (s *Set) up(ctx context.Context, it *item, replace bool) error {
	for _, program := range []string{docker, devcontainerCLI} {
		if s.tools.find(program) == "" {
			return errors.New(missing(program))
		}
	}
	folder := it.shown.WorkspaceFolder
	if fi, err := os.Stat(folder); err != nil || !fi.IsDir() {
		return fmt.Errorf("directory %s does not exist; start the dev container again when it does", folder)
	}
	if it.config() == "" {
		return fmt.Errorf("no devcontainer.json in %s: neither .devcontainer/devcontainer.json nor .devcontainer.json", folder)
	}
	s.writeLog(it, codersdk.LogLevelInfo, "Starting the dev container of "+folder+" ...")
	ctx, cancel := context.WithTimeout(ctx, upTimeout)
	defer cancel()
	err := s.tools.up(ctx, folder, it.shown.ConfigPath, replace, func(level codersdk.LogLevel, line string) { s.writeLog(it, level, line) })
	if ctx.Err() == context.DeadlineExceeded {
		return fmt.Errorf("the dev container did not start within %s", upTimeout)
	}
	return err
}

// forget deletes the agent of an item on the server.
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

// refresh queries Docker, unless the last result is more recent than that, and
// updates all items.
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
	if err != nil { // the running containers are unknown, so agents keep running
		s.warning = "Docker does not respond: " + err.Error()
		s.signal()
		s.watch()
		return
	}
	s.warning, s.containers = "", all
	s.adopt(all)
	for _, it := range s.items {
		s.updateFromDocker(it, all)
	}
	s.signal()
	s.watch()
}

// adopt adds items for dev containers that are otherwise unknown. The caller
// holds mu.
func (s *Set) adopt(all []codersdk.WorkspaceAgentContainer) {
	for _, c := range all {
		folder := c.Labels[labelFolder]
		if folder == "" || !c.Running || len(s.items) >= maxItems || slices.ContainsFunc(s.items, func(it *item) bool { return it.is(c) }) {
			continue
		}
		s.items = append(s.items, &item{shown: s.newItem(folder, c.Labels[labelConfig])})
	}
}

func (s *Set) newItem(folder, config string) codersdk.WorkspaceAgentDevcontainer {
	return codersdk.WorkspaceAgentDevcontainer{
		ID: uuid.NewSHA1(s.c.Namespace, []byte(folder+"\x00"+config)), Name: filepath.Base(folder), WorkspaceFolder: folder, ConfigPath: config,
		Status: codersdk.WorkspaceAgentDevcontainerStatusStopped,
	}
}

// is reports whether a container belongs to an item.
func (it *item) is(c codersdk.WorkspaceAgentContainer) bool {
	if c.Labels[labelFolder] != it.shown.WorkspaceFolder {
		return false
	}
	config := c.Labels[labelConfig]
	return config == "" || config == it.config()
}

// updateFromDocker updates an item from the state of Docker. The caller holds mu.
func (s *Set) updateFromDocker(it *item, all []codersdk.WorkspaceAgentContainer) {
	var mine *codersdk.WorkspaceAgentContainer
	for i, c := range all {
		if it.is(c) && (mine == nil || c.Running && !mine.Running || c.Running == mine.Running && c.CreatedAt.After(mine.CreatedAt)) {
			mine = &all[i]
		}
	}
	it.shown.Container = mine
	if it.busy || it.ignored {
		return
	}
	if it.shown.Status == codersdk.WorkspaceAgentDevcontainerStatusError && (mine == nil || !mine.Running) {
		return // keep the more specific error
	}
	running := mine != nil && mine.Running
	if it.held != nil && (!running || it.held.container != mine.ID) {
		it.held.forget = !running
		it.held.end()
		it.held = nil
	}
	switch {
	case running && it.held == nil && s.ctx != nil && s.ctx.Err() == nil:
		it.shown.Status = codersdk.WorkspaceAgentDevcontainerStatusRunning
		s.startAgent(it, *mine)
	case !running && it.shown.Status != codersdk.WorkspaceAgentDevcontainerStatusStopped:
		it.shown.Status, it.shown.Error, it.exited = codersdk.WorkspaceAgentDevcontainerStatusStopped, "", ""
		it.shown.Agent, it.shown.SubagentID = nil, nil
	}
}

// startAgent starts an agent in a container, after the previous agent has exited. The
// caller holds mu.
func (s *Set) startAgent(it *item, c codersdk.WorkspaceAgentContainer) {
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
			s.c.Log.Warn("cannot delete the agent of a stopped dev container", "devcontainer", it.shown.Name, "error", err)
		}
	})
}

// stopAgent stops the agent of an item and waits for its exit.
func (s *Set) stopAgent(it *item) {
	s.mu.Lock()
	h := it.held
	it.held = nil
	s.mu.Unlock()
	if h != nil {
		h.end()
		<-h.done
	}
	s.mu.Lock()
	it.exited = ""
	s.mu.Unlock()
}

// agentName converts s to a valid agent name of letters, digits and single
// hyphens. It returns "" when nothing remains.
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
