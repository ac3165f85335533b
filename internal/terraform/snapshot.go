package terraform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/filelock"
)

var (
	_ provisioner.Snapshotter = (*session)(nil)
	_ provisioner.Recoverer   = (*Engine)(nil)
)

const (
	// claimFile says in a work directory whose state it holds, once an apply began.
	claimFile = "claim"
	// lookEvery is how often the state file is looked at during an apply; a
	// look costs microseconds, and is all that separates what was made from
	// what is known elsewhere.
	lookEvery = 20 * time.Millisecond
	// keepLeftovers is how long a state that no server wants is kept.
	keepLeftovers = 24 * time.Hour
)

// Watch tells the state of the next Apply while it runs.
func (s *session) Watch(claim string, changed func(state []byte)) {
	s.claim, s.changed = claim, changed
}

// Leave keeps the work directory at Close.
func (s *session) Leave() { s.left = true }

// watch begins to look at the state file; the result ends that, and returns
// only when changed is not being called any more.
func (s *session) watch() (stop func(), err error) {
	if s.changed == nil {
		return func() {}, nil
	}
	if err := os.WriteFile(filepath.Join(s.dir, claimFile), []byte(s.claim), 0o600); err != nil {
		return nil, fmt.Errorf("note whose state it is: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	seen, _ := os.Stat(s.file(stateFile)) // nil when there is none
	go func() {
		defer close(done)
		t := time.NewTicker(lookEvery)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
			now, err := os.Stat(s.file(stateFile))
			if err != nil || same(seen, now) {
				continue
			}
			// Terraform writes the file in place: half of it is no JSON.
			state, err := os.ReadFile(s.file(stateFile))
			if err != nil || !json.Valid(state) {
				continue
			}
			seen, s.whole = now, state
			s.changed(state)
		}
	}()
	return func() { cancel(); <-done }, nil
}

// same says whether two looks at a file saw the same content.
func same(a, b os.FileInfo) bool {
	return a != nil && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Leftovers finds the work directories of jobs that died in their apply.
func (e *Engine) Leftovers(take func(claim string, state []byte) error) error {
	dirs, err := filepath.Glob(filepath.Join(e.config.CacheDir, "work", "job-*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range dirs {
		if err := e.leftover(dir, take); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (e *Engine) leftover(dir string, take func(claim string, state []byte) error) error {
	if _, err := os.Stat(filepath.Join(dir, claimFile)); err != nil {
		return nil //nolint:nilerr // nothing was applied there
	}
	lock, err := filelock.Try(filepath.Join(dir, lockName))
	if err != nil {
		return nil //nolint:nilerr // it is in use
	}
	defer lock.Close()
	claim, err := os.ReadFile(filepath.Join(dir, claimFile))
	if err != nil {
		return nil //nolint:nilerr // somebody else took it a moment ago
	}
	state, err := os.ReadFile(filepath.Join(dir, "source", stateFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read the state of a dead job: %w", err)
	}
	if len(state) > 0 && !json.Valid(state) {
		return fmt.Errorf("the state of a dead job in %s was cut off while it was written; the server has the one before it", dir)
	}
	if err := take(string(claim), state); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the work directory of a dead job: %w", err)
	}
	return nil
}
