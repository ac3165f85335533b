package provisionerd

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
)

// Slots are daemons under one name, so that as many jobs run at once. Each has
// a connection of its own, and with it all that the server knows of a job, and
// each job has a session of an engine of its own: a work directory and a
// process group. What breaks one disturbs no other. Engines are shared, and
// with them the store of providers and modules. It is a lifecycle.Service.
type Slots struct {
	daemons []*Daemon
	gone    atomic.Int32 // daemons that the server sent away
}

const firstSlot = "1"

// NewSlots makes n daemons, at least one, that do nothing yet.
func NewSlots(n int, c Config) (*Slots, error) {
	s := &Slots{}
	for i := range max(n, 1) {
		if n > 1 {
			c.Slot = strconv.Itoa(i + 1)
		}
		d, err := New(c)
		if err != nil {
			return nil, err
		}
		d.onGone = s.left
		s.daemons = append(s.daemons, d)
	}
	return s, nil
}

// Start begins to dial and returns at once.
func (s *Slots) Start(ctx context.Context) error {
	var errs []error
	for _, d := range s.daemons {
		errs = append(errs, d.Start(ctx))
	}
	return errors.Join(errs...)
}

// Stop takes no more jobs and waits for those that run; when ctx ends they are
// canceled.
func (s *Slots) Stop(ctx context.Context) error {
	errs := make([]error, len(s.daemons))
	var all sync.WaitGroup
	for i, d := range s.daemons {
		all.Go(func() { errs[i] = d.Stop(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// left is called by each daemon that the server sent away, at its end. Only the
// last one tells: until then others may be finishing their jobs.
func (s *Slots) left(err error) {
	if int(s.gone.Add(1)) == len(s.daemons) {
		s.daemons[0].refuse(err)
	}
}

// Refused is Daemon.Refused for all: the server refuses the first connection of
// the first slot as it would the others, or has sent all of them away.
func (s *Slots) Refused() <-chan error { return s.daemons[0].Refused() }
