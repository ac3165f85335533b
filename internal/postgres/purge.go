package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// InBatches calls del, which deletes one small batch of rows and returns their number, until none is left,
// and returns the sum. After each batch it pauses for as long as the batch took, so that other queries get
// at least half of the database's time. Each batch is its own transaction, so an interruption loses nothing.
func InBatches(ctx context.Context, del func() (int64, error)) (total int64, err error) {
	for {
		began := time.Now()
		n, err := del()
		total += n
		if err != nil || n == 0 {
			return total, err
		}
		select {
		case <-ctx.Done():
			return total, ctx.Err()
		case <-time.After(time.Since(began)):
		}
	}
}

// PurgeEach calls page for the records that come after an ID, until none is left, and del in batches for each that is
// deletable. It returns the number of rows that del deleted.
func PurgeEach[R ~struct {
	ID        uuid.UUID
	Deletable bool
}](ctx context.Context, page func(after uuid.UUID) ([]R, error), del func(id uuid.UUID) (int64, error)) (total int64, err error) {
	for after := uuid.Nil; ; {
		records, err := page(after)
		if err != nil || len(records) == 0 {
			return total, err
		}
		for _, r := range records {
			record := struct {
				ID        uuid.UUID
				Deletable bool
			}(r)
			after = record.ID
			if !record.Deletable {
				continue
			}
			n, err := InBatches(ctx, func() (int64, error) { return del(record.ID) })
			total += n
			if err != nil {
				return total, err
			}
		}
	}
}

// Exclusively calls fn while this session holds the advisory lock of that name. If another session, such as
// that of another replica, holds the lock, it returns false without calling fn. The lock ends with the
// session at the latest.
//
// Locks take at most half of the connections, so that fn can query the database. Exclusively waits for its turn.
func (s *Store) Exclusively(ctx context.Context, name string, fn func() error) (bool, error) {
	select {
	case s.locks <- struct{}{}:
		defer func() { <-s.locks }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	q := sqlc.New(mapped{conn})
	if got, err := q.TryLock(ctx, name); err != nil || !got {
		return false, err
	}
	defer func() {
		if ok, err := q.Unlock(context.WithoutCancel(ctx), name); err != nil || !ok {
			conn.Conn().Close(context.WithoutCancel(ctx)) //nolint:errcheck // a closed session holds no lock
		}
	}()
	return true, fn()
}
