package dispatch

import (
	"context"
	"errors"
)

// Deliver sends the due messages of all methods and waits for their attempts.
func (s *Service) Deliver(ctx context.Context) error {
	var failed error
	for _, o := range s.outboxes {
		failed = errors.Join(failed, o.send(ctx))
		o.attempts.Wait()
	}
	return failed
}
