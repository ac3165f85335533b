package queue

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// words collects what holders of jobs say, log lines and renewals of leases,
// and writes it down many at a time: those that come while some are being
// written go next, together, so that nobody waits for company. The zero value
// is ready.
type words struct {
	mu      sync.Mutex
	waiting []*word
	writers int
}

const (
	writers   = 2   // at once: each waits for the disk
	wordBatch = 200 // in one statement
)

// word is one update that holds nothing but log lines.
type word struct {
	job, worker uuid.UUID
	fence       int64
	resumable   bool
	lease       time.Duration
	lines       lines

	heard    bool // the worker holds the job, and it is written down
	canceled bool
	done     chan struct{}
}

// say takes an update that holds nothing but log lines, which most updates are.
// said is false when the update needs a transaction of its own: it says more,
// the log reaches its limit, or w may not hold the job.
func (s *Service) say(ctx context.Context, w Worker, fence int64, req *provisionerd.UpdateJobRequest) (resp *provisionerd.UpdateJobResponse, said bool, err error) {
	id, err := uuid.Parse(req.JobId)
	if err != nil || tells(req) {
		return nil, false, nil
	}
	me := &word{job: id, worker: w.ID, fence: fence, resumable: req.Resumable, lease: w.Lease, lines: linesOf(sqlc.ProvisionerJob{ID: id}, req.Logs), done: make(chan struct{})}
	if me.lines.overflowed {
		return nil, false, nil
	}
	if me.lease <= 0 {
		me.lease = s.Lease
	}
	s.words.mu.Lock()
	s.words.waiting = append(s.words.waiting, me)
	if s.words.writers < writers {
		s.words.writers++
		go s.write(context.WithoutCancel(ctx))
	}
	s.words.mu.Unlock()
	select {
	case <-me.done:
		return &provisionerd.UpdateJobResponse{Canceled: me.canceled}, me.heard, nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// tells says whether an update holds something for the job's handler.
func tells(req *provisionerd.UpdateJobRequest) bool {
	return len(req.State) > 0 || req.TemplateVariables != nil || req.UserVariableValues != nil || req.Readme != nil || req.WorkspaceTags != nil
}

// write writes words down until none wait.
func (s *Service) write(ctx context.Context) {
	for {
		batch := s.words.take()
		if batch == nil {
			return
		}
		bounded, cancel := context.WithTimeout(ctx, time.Minute)
		if err := s.writeDown(bounded, batch); err != nil {
			s.Log.Debug("cannot write words of provisioners down together; each is now alone", "words", len(batch), "error", err)
		}
		cancel()
		for _, w := range batch {
			close(w.done)
		}
	}
}

// take gives words to write, one for each job at most, or nil when there are
// none: then the writer is gone.
func (ws *words) take() []*word {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	var batch, later []*word
	jobs := map[uuid.UUID]bool{}
	for _, w := range ws.waiting {
		if jobs[w.job] || len(batch) == wordBatch {
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

func (s *Service) writeDown(ctx context.Context, batch []*word) error {
	p := sqlc.QueueSayParams{MaxBytes: maxLogs}
	by := make(map[uuid.UUID]*word, len(batch))
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
		by[r.ID].heard, by[r.ID].canceled = true, r.Canceled
	}
	return err
}
