package queue

import (
	"context"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Quota is an owner's budget and spending in credits per day, without the workspace in
// question.
type Quota struct {
	OK               bool
	Consumed, Budget int64
}

// Spender is a Handler whose jobs have a cost.
type Spender interface {
	// Spend checks whether a job can have that daily cost, and stores the cost if so.
	Spend(ctx context.Context, q *sqlc.Queries, job Job, cost int32) (Quota, error)
}

// CommitQuota checks, for the worker that holds a job, whether the job can have that daily
// cost. Jobs of types without a cost always can. (WS-19)
func (s *Service) CommitQuota(ctx context.Context, w Worker, fence int64, job string, cost int32) (Quota, error) {
	out := Quota{OK: true, Budget: -1}
	if cost < 0 {
		return out, codersdk.Invalid("daily_cost", "must not be negative")
	}
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		_, j, err := s.held(ctx, q, w, job, fence)
		if err != nil {
			return err
		}
		h, err := s.handler(j)
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
