// Package provisioner is the wire between a provisioner daemon and the tool it
// runs, as generated from the contract, and the Go interface that an engine in
// the daemon's own process implements with the same messages.
package provisioner

import (
	"context"
	"errors"
)

// Engine runs one infrastructure tool: terraform for real work, echo for tests.
type Engine interface {
	// Open begins one job in a work directory of its own. log is called, from
	// one goroutine at a time, with every line the tool prints, in order.
	Open(ctx context.Context, config *Config, log func(*Log)) (Session, error)
}

// Session is one job: Init, then Parse, or Plan and Graph any number of times,
// or Plan, Apply and Graph. A failure of the template or its infrastructure
// is the Error of the answer, with whatever the answer can still hold (state
// above all); a Go error is a failure of the machinery. When ctx ends the tool
// is interrupted, and killed with all its children if it does not end in time.
// A Session is used by one goroutine.
type Session interface {
	Init(context.Context, *InitRequest) (*InitComplete, error)
	Parse(context.Context, *ParseRequest) (*ParseComplete, error)
	Plan(context.Context, *PlanRequest) (*PlanComplete, error)
	Apply(context.Context, *ApplyRequest) (*ApplyComplete, error)
	Graph(context.Context, *GraphRequest) (*GraphComplete, error)
	// Close ends what still runs and removes the work directory.
	Close() error
}

// Modules is what a Session has besides when its engine can do with the module
// files of an earlier import instead of fetching them again.
type Modules interface {
	// HasModules states that the InitRequest's hash alone is enough.
	HasModules(sha256 []byte) bool
	// UseModules hands the files over, before Init. They are what ModuleFiles
	// of an InitComplete was.
	UseModules(packed []byte) error
}

// Planner is a Session that can keep a plan for a later session with the same
// inputs.
type Planner interface {
	// SavePlan returns the last plan, for UsePlan of another session. The text
	// is why the plan cannot be kept, "" if it can.
	SavePlan(context.Context) (saved []byte, why string, err error)
	// UsePlan stands in for Plan. The text is why the saved plan cannot be
	// used, "" if it can; then Plan is called as if there were none.
	UsePlan(ctx context.Context, saved []byte, req *PlanRequest) (done *PlanComplete, why string, err error)
	// Refused reports whether the last Apply failed because the plan of UsePlan
	// was refused before anything was changed.
	Refused() bool
}

// Snapshotter is a Session whose Apply can tell the state while it runs, so
// that what was made is known when the daemon dies.
type Snapshotter interface {
	// Watch is called before Apply. changed is called, from one goroutine at a
	// time and not after Apply has returned, with the whole state whenever it
	// has changed. claim is kept beside the state for Leftovers.
	Watch(claim string, changed func(state []byte))
	// Leave makes Close keep the work directory, for Leftovers to find.
	Leave()
}

// Recoverer is an Engine that finds what is left of jobs whose daemon died, or
// that were left, during or after Apply.
type Recoverer interface {
	// Leftovers calls take with the claim and the state of each, nil when
	// there is none yet, and forgets it when take returns nil. When take
	// returns an error that wraps ErrStale, the state is not offered again.
	// Jobs that run, in this process or another, are not among them.
	Leftovers(take func(claim string, state []byte) error) error
}

// ErrStale is why a server does not take the state that a job left: the
// workspace has gone on without it, so it will not be wanted later either.
var ErrStale = errors.New("the workspace went on without this state")
