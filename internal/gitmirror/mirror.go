// Package gitmirror keeps copies of git repositories for workspaces, so that a repository comes over the line to its
// host once, and not for each workspace.
//
// A user gets nothing that the host would not give: each request lists the branches and tags of the remote with the
// user's own credentials. A copy is only sent if these refs are those of the copy, and all of its objects are
// reachable from them. Otherwise the copy is first updated with the credentials of this user, and what is no longer
// reachable is removed.
//
// The copies are a cache in a directory of this machine. A process that is killed leaves nothing wrong: what it was
// updating is checked by the next update.
package gitmirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/filelock"
	"github.com/seed-2a7f8fe7/coder/internal/gitmirror/seed"
)

const (
	// updates is how many copies are updated at the same time.
	updates = 4
	// updateTimeout bounds an update: the first one receives the whole repository.
	updateTimeout = time.Hour
	// patience is how long Open waits for an update.
	patience = 3 * time.Second
	// pause is the time after a failed update in which the copy is not updated again.
	pause = time.Minute
)

// ErrUpdating is the error of Open while the mirror has no copy, or updates it.
var ErrUpdating = errors.New("the mirror has no current copy of the repository yet")

// Config describes a mirror.
type Config struct {
	Dir      string // of the copies, for this process alone
	MaxBytes int64  // of all copies; the least recently used are removed
	Git      string // the program; "" means git in PATH
	Log      *slog.Logger
	// Registerer receives the metrics; nil: none.
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// Mirror keeps copies of repositories. It is safe for concurrent use.
type Mirror struct {
	c       Config
	ctx     context.Context // of updates, which outlive the requests that start them
	cancel  context.CancelCauseFunc
	slots   chan struct{}
	metrics metrics
	work    sync.WaitGroup

	mu     sync.Mutex
	lock   *os.File // on the directory; nil until this process has it
	copies map[string]*replica
}

// New returns a mirror.
func New(c Config) *Mirror {
	if c.Git == "" {
		c.Git = "git"
	}
	m := &Mirror{c: c, slots: make(chan struct{}, updates), metrics: newMetrics(c.Registerer), copies: map[string]*replica{}}
	m.ctx, m.cancel = context.WithCancelCause(context.Background())
	return m
}

// Start does nothing: requests begin the work.
func (m *Mirror) Start(context.Context) error { return nil }

// Stop ends running updates and waits for them.
func (m *Mirror) Stop(context.Context) error {
	m.cancel(errors.New("the server stops"))
	m.work.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	lock := m.lock
	if m.lock = nil; lock == nil {
		return nil
	}
	return lock.Close()
}

// Remote is a repository at its host, with the credentials of a user. Without a password, the user is anonymous.
type Remote struct {
	URL                string
	Username, Password string
}

// CheckURL returns the URL of a remote in the form that Remote has. It refuses URLs that are not of HTTP, and such with
// credentials.
func CheckURL(raw string) (string, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || len(raw) > 2000:
		return "", codersdk.Invalid("url", "must be the HTTPS address of a git repository")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", codersdk.Invalid("url", "must not have credentials, a query or a fragment")
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	return strings.TrimRight(u.String(), "/"), nil
}

// Seed is a repository to send. Close it.
type Seed struct {
	repository seed.Repository
	files      []*os.File
}

// WriteTo writes the seed in the form of package seed.
func (s *Seed) WriteTo(w io.Writer) (int64, error) {
	counted := &counter{w: w}
	err := seed.Write(counted, s.repository, s.files)
	return counted.n, err
}

// Close releases the files.
func (s *Seed) Close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// Open returns the repository as the user of the remote may read it now, or ErrUpdating. It asks the host each time.
// Without create, it does not begin to copy a repository of which it has no copy, and returns ErrUpdating too.
func (m *Mirror) Open(ctx context.Context, r Remote, create bool) (*Seed, error) {
	s, err := m.open(ctx, r, create)
	result := resultFailed
	switch {
	case err == nil:
		result = resultSent
	case errors.Is(err, ErrUpdating):
		result = resultUpdating
	case codersdk.Is(err, codersdk.CodeNotFound):
		result = resultRefused
	}
	m.metrics.requests.WithLabelValues(result).Inc()
	return s, err
}

func (m *Mirror) open(ctx context.Context, r Remote, create bool) (*Seed, error) {
	deadline := time.Now().Add(patience)
	for {
		seen, err := m.list(ctx, r)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			m.c.Log.Info("a git host refused to list a repository, or did not answer", "url", r.URL, "error", err)
			return nil, codersdk.Errorf(codersdk.CodeNotFound,
				"The repository does not exist at its host, the owner of the workspace cannot read it, or the host does not answer")
		}
		if len(seen.Refs) == 0 {
			return nil, codersdk.Errorf(codersdk.CodeNotFound, "The repository has no branch")
		}
		one, err := m.copyOf(r.URL)
		if err != nil {
			return nil, err
		}
		if s, err := one.open(seen, m.c.Now()); s != nil || err != nil {
			return s, err
		}
		if !create && one.isEmpty() {
			return nil, ErrUpdating
		}
		done, err := m.update(one, r)
		if err != nil {
			return nil, err
		}
		select {
		case <-done:
		case <-time.After(time.Until(deadline)):
			return nil, ErrUpdating
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if time.Now().After(deadline) {
			return nil, ErrUpdating
		}
	}
}

// copyOf returns the copy of a remote. The first call reads those of earlier processes.
func (m *Mirror) copyOf(remote string) (*replica, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return nil, errStopping()
	}
	if m.lock == nil {
		if err := m.begin(); err != nil {
			m.c.Log.Warn("the git mirror cannot use its directory", "dir", m.c.Dir, "error", err)
			return nil, codersdk.Errorf(codersdk.CodeUnavailable, "The git mirror cannot use its directory; the log of the server has the reason")
		}
	}
	sum := sha256.Sum256([]byte(remote))
	name := hex.EncodeToString(sum[:16])
	one := m.copies[name]
	if one == nil {
		one = &replica{dir: filepath.Join(m.c.Dir, name), current: seed.Repository{Refs: map[string]string{}}, known: true}
		m.copies[name] = one
	}
	return one, nil
}

func errStopping() error { return codersdk.Errorf(codersdk.CodeUnavailable, "The server is stopping") }

// begin locks the directory and reads the copies that it has.
func (m *Mirror) begin() error {
	if err := os.MkdirAll(m.c.Dir, 0o700); err != nil {
		return err
	}
	lock, err := filelock.Try(filepath.Join(m.c.Dir, "lock"))
	if err != nil {
		return fmt.Errorf("another process uses it: %w", err)
	}
	entries, err := os.ReadDir(m.c.Dir)
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	for _, e := range entries {
		if e.IsDir() {
			m.copies[e.Name()] = load(filepath.Join(m.c.Dir, e.Name()))
		}
	}
	m.lock = lock
	return nil
}

// update starts to update a copy with the credentials of a user, unless an update runs, and returns a channel that is
// closed at its end.
func (m *Mirror) update(one *replica, r Remote) (done <-chan struct{}, err error) {
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.updating != nil {
		return one.updating, nil
	}
	if since := m.c.Now().Sub(one.failed); since < pause {
		return nil, codersdk.Errorf(codersdk.CodeUnavailable, "The repository could not be copied from its host; the server tries again in %s",
			(pause - since).Round(time.Second))
	}
	if m.ctx.Err() != nil {
		return nil, errStopping()
	}
	running := make(chan struct{})
	one.updating = running
	m.work.Go(func() {
		defer close(running)
		m.runUpdate(one, r)
		m.evict()
	})
	return running, nil
}

// runUpdate updates a copy and records the result in it.
func (m *Mirror) runUpdate(one *replica, r Remote) {
	ctx, cancel := context.WithTimeoutCause(m.ctx, updateTimeout, errors.New("the update took longer than an hour"))
	defer cancel()
	ctx, tooLarge := context.WithCancelCause(ctx)
	defer tooLarge(nil)
	var next seed.Repository
	err := func() error {
		select {
		case m.slots <- struct{}{}:
			defer func() { <-m.slots }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		go one.watchSize(ctx, m.c.MaxBytes, tooLarge)
		var err error
		next, err = m.fetch(ctx, one, r)
		return err
	}()
	one.mu.Lock()
	defer one.mu.Unlock()
	one.updating = nil
	one.size, one.used = one.measure(), m.c.Now()
	if err == nil {
		err = one.save(next)
	}
	if err != nil {
		one.known, one.failed = false, m.c.Now()
		if m.ctx.Err() == nil {
			m.c.Log.Warn("a git repository could not be copied", "url", r.URL, "error", err)
		}
	}
}

// evict removes the least recently used copies until the rest has at most MaxBytes.
func (m *Mirror) evict() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		var total int64
		var oldest string
		var since time.Time
		for name, one := range m.copies {
			one.mu.Lock()
			total += one.size
			if one.updating == nil && one.size > 0 && (oldest == "" || one.used.Before(since)) {
				oldest, since = name, one.used
			}
			one.mu.Unlock()
		}
		m.metrics.bytes.Set(float64(total))
		if total <= m.c.MaxBytes || oldest == "" {
			return
		}
		one := m.copies[oldest]
		one.mu.Lock()
		if one.updating == nil {
			if err := one.remove(); err != nil {
				m.c.Log.Warn("a copy of a git repository could not be removed", "dir", one.dir, "error", err)
			}
			one.size = 0
		}
		one.mu.Unlock()
	}
}

// equal reports whether two remotes show the same.
func equal(a, b seed.Repository) bool { return a.Head == b.Head && maps.Equal(a.Refs, b.Refs) }

// isMissing reports whether a file is not there.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
