// Package provisioner is the wire between a provisioner daemon and the tool it
// runs, as generated from the contract, and the Go interface that an engine in
// the daemon's own process implements with the same messages.
package provisioner

import "context"

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
