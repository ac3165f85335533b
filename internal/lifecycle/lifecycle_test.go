package lifecycle_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// recorder notes what happens to it.
type recorder struct {
	name     string
	events   *[]string
	startErr error
	stopErr  error
}

func (r recorder) Start(context.Context) error {
	*r.events = append(*r.events, "start "+r.name)
	return r.startErr
}

func (r recorder) Stop(context.Context) error {
	*r.events = append(*r.events, "stop "+r.name)
	return r.stopErr
}

func named(r recorder) lifecycle.Named { return lifecycle.Named{Name: r.name, Service: r} }

func TestGroupStopsInTheOppositeOrder(t *testing.T) {
	var events []string
	var g lifecycle.Group
	if err := g.Start(t.Context(), named(recorder{name: "a", events: &events}), named(recorder{name: "b", events: &events})); err != nil {
		t.Fatal(err)
	}
	if err := g.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"start a", "start b", "stop b", "stop a"}; !slices.Equal(events, want) {
		t.Errorf("got %v, want %v", events, want)
	}
	if err := g.Stop(t.Context()); err != nil || len(events) != 4 {
		t.Errorf("a second stop: %v, %v", err, events)
	}
}

func TestGroupUndoesAFailedStart(t *testing.T) {
	var events []string
	var g lifecycle.Group
	broken, stuck := errors.New("broken"), errors.New("stuck")
	err := g.Start(t.Context(), named(recorder{name: "a", events: &events, stopErr: stuck}),
		named(recorder{name: "b", events: &events, startErr: broken}), named(recorder{name: "c", events: &events}))
	if !errors.Is(err, broken) || !errors.Is(err, stuck) || !strings.Contains(err.Error(), "start b") {
		t.Errorf("got %v", err)
	}
	if want := []string{"start a", "start b", "stop a"}; !slices.Equal(events, want) {
		t.Errorf("got %v, want %v", events, want)
	}
}

func TestLoopEndsAtStop(t *testing.T) {
	ran := make(chan struct{})
	l := &lifecycle.Loop{Run: func(ctx context.Context) { close(ran); <-ctx.Done() }}
	if err := l.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-ran
	if err := l.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	deaf := make(chan struct{})
	l = &lifecycle.Loop{Run: func(context.Context) { <-deaf }}
	if err := l.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Stop(over); !errors.Is(err, context.Canceled) {
		t.Errorf("a loop that does not end: %v", err)
	}
	close(deaf)
}
