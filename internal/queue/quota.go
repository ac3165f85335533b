package queue

import (
	"context"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Quota is what an owner may spend and does, in credits a day, beside the
// workspace in question.
type Quota struct {
	OK               bool
	Consumed, Budget int64
}

// Spender is a Handler whose jobs cost something.
type Spender interface {
	// Spend says whether a job may cost that much a day, and if so notes that
	// it does.
	Spend(ctx context.Context, q *sqlc.Queries, job Job, cost int32) (Quota, error)
}

// CommitQuota asks, for the worker that holds a job, whether it may cost that
// much a day. Jobs of kinds that cost nothing always may. (WS-19)
func (s *Service) CommitQuota(ctx context.Context, w Worker, fence int64, job string, cost int32) (Quota, error) {
	out := Quota{OK: true, Budget: -1}
	if cost < 0 {
		return out, coder.Invalid("daily_cost", "must not be negative")
	}
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		_, j, err := s.held(ctx, q, w, job, fence)
		if err != nil {
			return err
		}
		h, err := s.handler(j.Type)
		if err != nil {
			return err
		}
		spender, ok := h.(Spender)
		if !ok {
			return nil
		}
		out, err = spender.Spend(ctx, q, j, cost)
		return err
	})
	return out, err
}
