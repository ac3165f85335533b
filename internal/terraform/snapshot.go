package terraform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/filelock"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/graph"
)

var (
	_ provisioner.Snapshotter = (*session)(nil)
	_ provisioner.Recoverer   = (*Engine)(nil)
)

const (
	// claimFile names, in a work directory, the state in it, once an apply
	// started.
	claimFile = "claim"
	// staleFile is the claim of a state that the server did not want.
	staleFile = "stale"
	// lookEvery is the interval of checks of the state file during an apply. A
	// check costs microseconds, and bounds how much created infrastructure the
	// server does not know of.
	lookEvery = 20 * time.Millisecond
	// keepLeftovers is how long a state is kept that no server wants.
	keepLeftovers = 24 * time.Hour
)

// Watch reports the state during the next Apply.
func (s *session) Watch(claim string, changed func(state []byte)) {
	s.claim, s.changed = claim, changed
}

// Leave makes Close keep the work directory.
func (s *session) Leave() { s.left = true }

// watch starts to poll the state file. The returned function stops it and waits
// for the last call of changed.
func (s *session) watch() (stop func(), err error) {
	if s.changed == nil {
		return func() {}, nil
	}
	if err := os.WriteFile(filepath.Join(s.dir, claimFile), []byte(s.claim), 0o600); err != nil {
		return nil, fmt.Errorf("record the owner of the state: %w", err)
	}
	if err := s.created.Record(s.dir); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	w := stateWatch{s: s}
	w.seen, _ = os.Stat(s.file(stateFile)) // nil if it does not exist
	go func() {
		defer close(done)
		lifecycle.Every(ctx, lookEvery, func(context.Context) { w.poll() })
	}()
	return func() { cancel(); <-done; s.created.Close() }, nil
}

// stateWatch reports the state of an apply after each change.
type stateWatch struct {
	s       *session
	seen    os.FileInfo // of the last read state
	fresh   bool        // a new state was read
	version int         // of creations, when told was made
	told    []byte
}

// poll reads the state file if it changed. Terraform logs that a resource is
// complete before it writes that state, so the log is evaluated after the
// state. Until the last log line arrives, a complete resource may be reported
// as tainted, never the other way around.
func (w *stateWatch) poll() {
	now, err := os.Stat(w.s.file(stateFile))
	changed := err == nil && !same(w.seen, now)
	if changed {
		// Terraform writes the file in place, so it may be incomplete JSON.
		state, err := os.ReadFile(w.s.file(stateFile))
		if changed = err == nil && json.Valid(state); changed {
			w.seen, w.s.whole, w.fresh = now, state, true
		}
	}
	version := w.s.created.Version()
	if !w.fresh || !changed && version == w.version {
		return
	}
	w.version = version
	state, _, err := w.s.created.Taint(w.s.whole)
	if err != nil || bytes.Equal(state, w.told) {
		return
	}
	w.told = state
	w.s.changed(state)
}

// same reports whether two stats are of the same content.
func same(a, b os.FileInfo) bool {
	return a != nil && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Leftovers finds the work directories of jobs that died during an apply.
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
		return nil //nolint:nilerr // no apply started in it
	}
	lock, err := filelock.Try(filepath.Join(dir, lockName))
	if err != nil {
		return nil //nolint:nilerr // it is in use
	}
	defer lock.Close()
	claim, err := os.ReadFile(filepath.Join(dir, claimFile))
	if err != nil {
		return nil //nolint:nilerr // another process has just taken it
	}
	state, err := os.ReadFile(filepath.Join(dir, "source", stateFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read the state of a dead job: %w", err)
	}
	if len(state) > 0 && !json.Valid(state) {
		return fmt.Errorf("the state of a dead job in %s is incomplete; the server has the previous one", dir)
	}
	created, err := graph.ReadJournal(dir)
	if err == nil {
		state, _, err = created.Taint(state)
	}
	if err != nil {
		return err
	}
	err = take(string(claim), state)
	if errors.Is(err, provisioner.ErrStale) {
		// It stays for a day for inspection, but is not offered again.
		err = errors.Join(err, os.Rename(filepath.Join(dir, claimFile), filepath.Join(dir, staleFile)))
	}
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the work directory of a dead job: %w", err)
	}
	return nil
}
