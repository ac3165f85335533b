package queue

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// logBatches batches log lines and lease renewals from the holders of jobs. Updates that arrive
// during a write are written together by the next one, so no update waits for others. The
// zero value is ready.
type logBatches struct {
	mu      sync.Mutex
	waiting []*logUpdate
	writers int
}

const (
	writers  = 2   // concurrent writes; each waits for the disk
	maxBatch = 200 // maximum of one statement
)

// logUpdate is one update that contains only log lines.
type logUpdate struct {
	job, worker uuid.UUID
	fence       int64
	resumable   bool
	lease       time.Duration
	lines       lines

	stored   bool // the worker holds the job, and the update is stored
	canceled bool
	done     chan struct{}
}

// storeLogs stores an update that contains only log lines, as most updates do. stored is false if
// the update needs a transaction of its own: it contains more, the log reaches its limit,
// or w may not hold the job.
func (s *Service) storeLogs(
	ctx context.Context,
	w Worker,
	fence int64,
	req *provisionerd.UpdateJobRequest,
) (resp *provisionerd.UpdateJobResponse, stored bool, err error) {
	id, err := uuid.Parse(req.JobId)
	if err != nil || hasResult(req) {
		return nil, false, nil
	}
	me := &logUpdate{
		job:       id,
		worker:    w.ID,
		fence:     fence,
		resumable: req.Resumable,
		lease:     w.Lease,
		lines:     linesOf(sqlc.ProvisionerJob{ID: id}, req.Logs, s.Now()),
		done:      make(chan struct{}),
	}
	if me.lines.overflowed {
		return nil, false, nil
	}
	if me.lease <= 0 {
		me.lease = s.Lease
	}
	s.logBatches.mu.Lock()
	s.logBatches.waiting = append(s.logBatches.waiting, me)
	if s.logBatches.writers < writers {
		s.logBatches.writers++
		go s.write(context.WithoutCancel(ctx))
	}
	s.logBatches.mu.Unlock()
	select {
	case <-me.done:
		return &provisionerd.UpdateJobResponse{Canceled: me.canceled}, me.stored, nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// hasResult reports whether an update contains data for the job's handler.
func hasResult(req *provisionerd.UpdateJobRequest) bool {
	return len(req.State) > 0 || req.TemplateVariables != nil || req.UserVariableValues != nil || req.Readme != nil || req.WorkspaceTags != nil
}

// write writes batches until no update waits.
func (s *Service) write(ctx context.Context) {
	for {
		batch := s.logBatches.nextBatch()
		if batch == nil {
			return
		}
		bounded, cancel := context.WithTimeout(ctx, time.Minute)
		if err := s.writeDown(bounded, batch); err != nil {
			s.Log.Debug("cannot write updates of provisioners as a batch; writing them one by one", "words", len(batch), "error", err)
		}
		cancel()
		for _, w := range batch {
			close(w.done)
		}
	}
}

// nextBatch returns the updates to write, at most one for each job, or nil if there are none;
// then the writer ends.
func (ws *logBatches) nextBatch() []*logUpdate {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	var batch, later []*logUpdate
	jobs := map[uuid.UUID]bool{}
	for _, w := range ws.waiting {
		if jobs[w.job] || len(batch) == maxBatch {
			later = append(later, w)
			continue
		}
		jobs[w.job] = true
		batch = append(batch, w)
	}
	if ws.waiting = later; batch == nil {
		ws.writers--
	}
	return batch
}

func (s *Service) writeDown(ctx context.Context, batch []*logUpdate) error {
	p := sqlc.QueueSayParams{MaxBytes: maxLogs}
	by := make(map[uuid.UUID]*logUpdate, len(batch))
	for _, w := range batch {
		by[w.job] = w
		p.Ids = append(p.Ids, w.job)
		p.Fences = append(p.Fences, w.fence)
		p.Workers = append(p.Workers, w.worker)
		p.Resumables = append(p.Resumables, w.resumable)
		p.Bytes = append(p.Bytes, w.lines.length)
		p.Leases = append(p.Leases, w.lease.Milliseconds())
		for range w.lines.Output {
			p.JobIds = append(p.JobIds, w.job)
		}
		p.CreatedAt = append(p.CreatedAt, w.lines.CreatedAt...)
		p.Source = append(p.Source, w.lines.Source...)
		p.Level = append(p.Level, w.lines.Level...)
		p.Stage = append(p.Stage, w.lines.Stage...)
		p.Output = append(p.Output, w.lines.Output...)
	}
	rows, err := s.Store.QueueSay(ctx, p)
	for _, r := range rows {
		by[r.ID].stored, by[r.ID].canceled = true, r.Canceled
	}
	return err
}
