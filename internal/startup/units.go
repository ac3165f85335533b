// Package startup orders what starts in a workspace. A unit is whatever the
// workspace's scripts call one: cloning a repository, installing tools. A
// script says which units its own wants complete before, waits for them at
// Start, and says Complete when it is done; the scripts themselves run side by
// side as ever. Units form a graph without cycles, which is kept in the memory
// of the agent, for it is about this start only, and reached through a Unix
// socket that is the user's alone. (AG-25)
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

	"github.com/seed-2a7f8fe7/coder"
)

// Status is how far a unit is.
type Status string

// The statuses, in order. One that others want is not registered until somebody
// speaks for it.
const (
	StatusNotRegistered Status = "not registered"
	StatusPending       Status = "pending"
	StatusStarted       Status = "started"
	StatusCompleted     Status = "completed"
)

// Dependency is a unit that another wants complete before it starts.
type Dependency struct {
	DependsOn      string `json:"depends_on"`
	RequiredStatus Status `json:"required_status"`
	CurrentStatus  Status `json:"current_status"`
	IsSatisfied    bool   `json:"is_satisfied"`
}

// Unit is how things stand with one.
type Unit struct {
	Name   string `json:"unit_name"`
	Status Status `json:"status"`
	// IsReady says that everything it wants is complete.
	IsReady      bool         `json:"is_ready"`
	Dependencies []Dependency `json:"dependencies"`
}

// Bounds of what a workspace can have: a loop in a script must not fill the
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

// Units are the units of one workspace. It is safe for concurrent use.
type Units struct {
	mu        sync.Mutex
	units     map[string]*unit
	wants     int
	completed chan struct{} // closed at the next completion
}

// NewUnits gives none yet.
func NewUnits() *Units {
	return &Units{units: map[string]*unit{}, completed: make(chan struct{})}
}

// Want says that a unit wants others complete before it starts: all of them, or
// with an error none. It is CodeConflict when the unit has started, and when
// one would wait for itself in the end. To want the same again changes nothing.
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
			return coder.Errorf(coder.CodeConflict, "The unit %q is %s already; say what it wants before it starts", name, x.status)
		}
		wants = slices.Clone(x.wants)
	}
	had := len(wants)
	for _, other := range others {
		if slices.Contains(wants, other) {
			continue
		}
		if way := u.way(other, name, map[string]bool{}); way != nil {
			return coder.Errorf(coder.CodeConflict, "The unit %q cannot want %q, or it would wait for itself: %s", name, other, circle(append([]string{name}, way...)))
		}
		wants = append(wants, other)
	}
	all := u.wants + len(wants) - had
	if all > maxWants {
		return coder.Errorf(coder.CodeTooLarge, "The units of this workspace would want more than %d others, which is the limit", maxWants)
	}
	x, err := u.register(name)
	if err != nil {
		return err
	}
	x.wants, u.wants = wants, all
	return nil
}

// Start waits until all that a unit wants is complete, and then says that it has
// started. The error of a wait that ctx ends says what it waits for; it is
// CodeUnavailable when that was for lack of time. It is CodeConflict when the
// unit has started before.
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
				return coder.Errorf(coder.CodeUnavailable, "The unit %q did not start in time: it waits for %s", name, strings.Join(waits, ", "))
			}
			return ctx.Err()
		}
	}
}

// tryStart starts a unit, or gives what it waits for and what is closed when
// one is completed.
func (u *Units) tryStart(name string) (waits []string, completed <-chan struct{}, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	x, err := u.register(name)
	if err != nil {
		return nil, nil, err
	}
	if x.status != StatusPending {
		return nil, nil, coder.Errorf(coder.CodeConflict, "The unit %q is %s already; a unit starts once", name, x.status)
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

// Complete says that a unit is done, whereupon those that want it may start. It
// is CodeConflict when it has not started; to say it again changes nothing.
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
		return coder.Errorf(coder.CodeConflict, "The unit %q is %s; it can be complete once it has started", name, s)
	}
}

// Get tells how things stand with a unit; of one that nobody has spoken for it
// says so.
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
			out.Dependencies = append(out.Dependencies, Dependency{DependsOn: other, RequiredStatus: StatusCompleted, CurrentStatus: s, IsSatisfied: s == StatusCompleted})
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
			return nil, coder.Errorf(coder.CodeTooLarge, "This workspace has %d units already, which is the limit", maxUnits)
		}
		x = &unit{status: StatusPending}
		u.units[name] = x
	}
	return x, nil
}

// way gives how one unit wants another in the end, nil when it does not. What
// has been seen is not looked at again.
func (u *Units) way(from, to string, seen map[string]bool) []string {
	if from == to {
		return []string{to}
	}
	if seen[from] || u.units[from] == nil {
		return nil
	}
	seen[from] = true
	for _, other := range u.units[from].wants {
		if rest := u.way(other, to, seen); rest != nil {
			return append([]string{from}, rest...)
		}
	}
	return nil
}

// circle tells a way that ends where it began.
func circle(way []string) string {
	quoted := make([]string, len(way))
	for i, n := range way {
		quoted[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(quoted, " wants ")
}

func checkName(name string) error {
	switch {
	case name == "":
		return coder.Errorf(coder.CodeInvalid, "A unit needs a name")
	case len(name) > maxName:
		return coder.Errorf(coder.CodeInvalid, "The name of a unit has at most %d bytes", maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return coder.Errorf(coder.CodeInvalid, "The name of a unit, %q, has characters that do not print", name)
	}
	return nil
}
