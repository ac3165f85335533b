// Package startup orders the start scripts of a workspace. A unit is a name for
// work of a script, such as cloning a repository or installing tools. A script
// declares the units that its own unit depends on, waits for them with Start,
// and calls Complete when it is done. The scripts themselves run concurrently.
// Units form an acyclic graph in the agent's memory, because they concern the
// current start only. Scripts reach it through a Unix socket that only the user
// can connect to. (AG-25)
package startup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Status is the progress of a unit.
type Status string

// The statuses, in order. A unit that is only a dependency of others is not
// registered until a script declares or starts it.
const (
	StatusNotRegistered Status = "not registered"
	StatusPending       Status = "pending"
	StatusStarted       Status = "started"
	StatusCompleted     Status = "completed"
)

// Dependency is a unit that must be complete before another one starts.
type Dependency struct {
	DependsOn      string `json:"depends_on"`
	RequiredStatus Status `json:"required_status"`
	CurrentStatus  Status `json:"current_status"`
	IsSatisfied    bool   `json:"is_satisfied"`
}

// Unit is the state of one unit.
type Unit struct {
	Name   string `json:"unit_name"`
	Status Status `json:"status"`
	// IsReady reports whether all dependencies are complete.
	IsReady      bool         `json:"is_ready"`
	Dependencies []Dependency `json:"dependencies"`
}

// Bounds of a workspace's units, so that a loop in a script cannot fill the
// agent's memory.
const (
	maxName  = 256
	maxUnits = 1000
	maxWants = 10_000 // of all units together
)

type unit struct {
	status Status
	wants  []string
}

// Units holds the units of one workspace. It is safe for concurrent use.
type Units struct {
	mu        sync.Mutex
	units     map[string]*unit
	wants     int
	completed chan struct{} // closed at the next completion
}

// NewUnits returns an empty set of units.
func NewUnits() *Units {
	return &Units{units: map[string]*unit{}, completed: make(chan struct{})}
}

// Want declares that a unit depends on others: on all of them, or in case of an
// error on none. It returns CodeConflict when the unit has already started, and
// when the dependency would form a cycle. Repeated declarations change nothing.
func (u *Units) Want(name string, others ...string) error {
	for _, n := range append([]string{name}, others...) {
		if err := checkName(n); err != nil {
			return err
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	var wants []string
	if x := u.units[name]; x != nil {
		if x.status != StatusPending {
			return codersdk.Errorf(codersdk.CodeConflict, "The unit %q is already %s; declare dependencies before the unit starts", name, x.status)
		}
		wants = slices.Clone(x.wants)
	}
	had := len(wants)
	for _, other := range others {
		if slices.Contains(wants, other) {
			continue
		}
		if way := u.findPath(other, name, map[string]bool{}); way != nil {
			return codersdk.Errorf(
				codersdk.CodeConflict,
				"The unit %q cannot depend on %q, because that would form a cycle: %s",
				name,
				other,
				formatCycle(append([]string{name}, way...)),
			)
		}
		wants = append(wants, other)
	}
	all := u.wants + len(wants) - had
	if all > maxWants {
		return codersdk.Errorf(codersdk.CodeTooLarge, "The units of this workspace are limited to %d dependencies", maxWants)
	}
	x, err := u.register(name)
	if err != nil {
		return err
	}
	x.wants, u.wants = wants, all
	return nil
}

// Start waits until all dependencies of a unit are complete, and then marks the
// unit as started. When ctx ends first, the error names the missing
// dependencies; it is CodeUnavailable for a deadline. It is CodeConflict when
// the unit has already started.
func (u *Units) Start(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	for {
		waits, completed, err := u.tryStart(name)
		if err != nil || len(waits) == 0 {
			return err
		}
		select {
		case <-completed:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return codersdk.Errorf(codersdk.CodeUnavailable, "The unit %q did not start in time; it is waiting for %s", name, strings.Join(waits, ", "))
			}
			return ctx.Err()
		}
	}
}

// tryStart starts a unit. Otherwise it returns the missing dependencies and a
// channel that is closed at the next completion.
func (u *Units) tryStart(name string) (waits []string, completed <-chan struct{}, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	x, err := u.register(name)
	if err != nil {
		return nil, nil, err
	}
	if x.status != StatusPending {
		return nil, nil, codersdk.Errorf(codersdk.CodeConflict, "The unit %q is already %s; a unit starts only once", name, x.status)
	}
	for _, other := range x.wants {
		if s := u.status(other); s != StatusCompleted {
			waits = append(waits, fmt.Sprintf("%q (%s)", other, s))
		}
	}
	if len(waits) == 0 {
		x.status = StatusStarted
	}
	return waits, u.completed, nil
}

// Complete marks a unit as complete, so that units that depend on it can start.
// It returns CodeConflict when the unit has not started. Repeated calls change
// nothing.
func (u *Units) Complete(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	switch s := u.status(name); s {
	case StatusCompleted:
		return nil
	case StatusStarted:
		u.units[name].status = StatusCompleted
		close(u.completed)
		u.completed = make(chan struct{})
		return nil
	default:
		return codersdk.Errorf(codersdk.CodeConflict, "The unit %q is %s; start the unit before you complete it", name, s)
	}
}

// Get returns the state of a unit. An unknown unit is not registered.
func (u *Units) Get(name string) (Unit, error) {
	if err := checkName(name); err != nil {
		return Unit{}, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	out := Unit{Name: name, Status: u.status(name), IsReady: true, Dependencies: []Dependency{}}
	if x := u.units[name]; x != nil {
		for _, other := range x.wants {
			s := u.status(other)
			out.Dependencies = append(
				out.Dependencies,
				Dependency{DependsOn: other, RequiredStatus: StatusCompleted, CurrentStatus: s, IsSatisfied: s == StatusCompleted},
			)
			out.IsReady = out.IsReady && s == StatusCompleted
		}
	}
	return out, nil
}

func (u *Units) status(name string) Status {
	if x := u.units[name]; x != nil {
		return x.status
	}
	return StatusNotRegistered
}

func (u *Units) register(name string) (*unit, error) {
	x := u.units[name]
	if x == nil {
		if len(u.units) >= maxUnits {
			return nil, codersdk.Errorf(codersdk.CodeTooLarge, "This workspace has reached the limit of %d units", maxUnits)
		}
		x = &unit{status: StatusPending}
		u.units[name] = x
	}
	return x, nil
}

// findPath returns a path of dependencies from one unit to another, or nil. seen
// holds the units that were already visited.
func (u *Units) findPath(from, to string, seen map[string]bool) []string {
	if from == to {
		return []string{to}
	}
	if seen[from] || u.units[from] == nil {
		return nil
	}
	seen[from] = true
	for _, other := range u.units[from].wants {
		if rest := u.findPath(other, to, seen); rest != nil {
			return append([]string{from}, rest...)
		}
	}
	return nil
}

// formatCycle formats a path that ends where it starts.
func formatCycle(way []string) string {
	quoted := make([]string, len(way))
	for i, n := range way {
		quoted[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(quoted, " -> ")
}

func checkName(name string) error {
	switch {
	case name == "":
		return codersdk.Errorf(codersdk.CodeInvalid, "The unit name is empty")
	case len(name) > maxName:
		return codersdk.Errorf(codersdk.CodeInvalid, "A unit name is limited to %d bytes", maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return codersdk.Errorf(codersdk.CodeInvalid, "The unit name %q contains characters that are not printable", name)
	}
	return nil
}
