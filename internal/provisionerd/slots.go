package provisionerd

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
)

// Slots are daemons under one name, one for each concurrent job. Each has its
// own connection, which scopes the server's knowledge of a job. Each job has
// its own engine session, with a work directory and a process group, so a
// failure does not affect other jobs. Engines, and with them the caches of
// providers and modules, are shared. Slots implements lifecycle.Service.
type Slots struct {
	daemons []*Daemon
	gone    atomic.Int32 // daemons whose access was revoked
}

const firstSlot = "1"

// NewSlots returns n daemons, at least one, that do nothing until Start.
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

// Start starts to dial the server and returns immediately.
func (s *Slots) Start(ctx context.Context) error {
	var errs []error
	for _, d := range s.daemons {
		errs = append(errs, d.Start(ctx))
	}
	return errors.Join(errs...)
}

// Stop acquires no more jobs and waits for the running ones; when ctx ends,
// they are canceled.
func (s *Slots) Stop(ctx context.Context) error {
	errs := make([]error, len(s.daemons))
	var all sync.WaitGroup
	for i, d := range s.daemons {
		all.Go(func() { errs[i] = d.Stop(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// left is called by each daemon that ends because its access was revoked. Only
// the last one reports it, because others may still be finishing their jobs.
func (s *Slots) left(err error) {
	if int(s.gone.Add(1)) == len(s.daemons) {
		s.daemons[0].refuse(err)
	}
}

// Refused returns Daemon.Refused of all slots. The server either refuses the
// first connection of the first slot, as it would the others, or has revoked
// the access of all.
func (s *Slots) Refused() <-chan error { return s.daemons[0].Refused() }
