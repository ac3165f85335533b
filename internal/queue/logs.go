package queue

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// addLogs appends lines to a locked job's log and gives its new length. At the
// cap one line says so and the rest is dropped; the job goes on.
func (s *Service) addLogs(ctx context.Context, q *sqlc.Queries, row sqlc.ProvisionerJob, logs []*provisionerd.Log) (int32, bool, error) {
	l := linesOf(row, logs)
	if len(l.Output) == 0 {
		return l.length, l.overflowed, nil
	}
	return l.length, l.overflowed, q.QueueAddLogs(ctx, l.QueueAddLogsParams)
}

// lines are rows of a job's log, and what its log comes to with them.
type lines struct {
	sqlc.QueueAddLogsParams
	length     int32
	overflowed bool
}

// linesOf makes rows of what a provisioner said.
func linesOf(row sqlc.ProvisionerJob, logs []*provisionerd.Log) lines {
	p := lines{QueueAddLogsParams: sqlc.QueueAddLogsParams{JobID: row.ID}, length: row.LogsLength, overflowed: row.LogsOverflowed}
	if p.overflowed {
		return p
	}
	for _, l := range logs {
		output, stage := clean(l.Output, maxLine), clean(l.Stage, 200)
		size := int32(max(len(output)+len(stage), minLine))
		if p.overflowed = p.length+size > maxLogs; p.overflowed {
			l = &provisionerd.Log{Level: provisioner.LogLevel_WARN, CreatedAt: l.CreatedAt}
			output = fmt.Sprintf("The log has reached its limit of %d KiB; what follows is not kept.", maxLogs>>10)
			size = 0
		}
		p.length += size
		p.CreatedAt = append(p.CreatedAt, sane(l.CreatedAt))
		p.Source = append(p.Source, string(sourceOf(l.Source)))
		p.Level = append(p.Level, string(levelOf(l.Level)))
		p.Stage = append(p.Stage, stage)
		p.Output = append(p.Output, output)
		if p.overflowed {
			break
		}
	}
	return p
}

// note appends a line of the server's own to a locked job's log.
func (s *Service) note(ctx context.Context, q *sqlc.Queries, row sqlc.ProvisionerJob, level provisioner.LogLevel, output string) error {
	length, overflowed, err := s.addLogs(ctx, q, row, []*provisionerd.Log{{
		Source: provisionerd.LogSource_PROVISIONER_DAEMON, Level: level, CreatedAt: time.Now().UnixMilli(), Output: output,
	}})
	if err != nil {
		return err
	}
	return q.QueueSetLogs(ctx, length, overflowed, row.ID)
}

// sane is the time a daemon gave, or now when its clock is far off.
func sane(ms int64) time.Time {
	now := time.Now()
	t := time.UnixMilli(ms)
	if t.Before(now.Add(-24*time.Hour)) || t.After(now.Add(time.Hour)) {
		return now
	}
	return t
}

// clean makes text that PostgreSQL and JSON take: valid UTF-8 without NUL, cut
// to about limit bytes with a mark.
func clean(s string, limit int) string {
	cut := 0
	if len(s) > limit {
		cut = len(s) - limit
		s = s[:limit]
		for i := 1; i < utf8.UTFMax && i <= len(s); i++ { // not within a character
			if utf8.RuneStart(s[len(s)-i]) {
				if !utf8.FullRuneInString(s[len(s)-i:]) {
					s, cut = s[:len(s)-i], cut+i
				}
				break
			}
		}
	}
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if cut > 0 {
		s += fmt.Sprintf(" … (%d bytes cut)", cut)
	}
	return s
}

func sourceOf(s provisionerd.LogSource) coder.LogSource {
	if s == provisionerd.LogSource_PROVISIONER {
		return coder.LogSourceProvisioner
	}
	return coder.LogSourceProvisionerDaemon
}

func levelOf(l provisioner.LogLevel) coder.LogLevel {
	switch l {
	case provisioner.LogLevel_TRACE:
		return coder.LogLevelTrace
	case provisioner.LogLevel_DEBUG:
		return coder.LogLevelDebug
	case provisioner.LogLevel_WARN:
		return coder.LogLevelWarn
	case provisioner.LogLevel_ERROR:
		return coder.LogLevelError
	}
	return coder.LogLevelInfo
}

// logPage bounds how many lines are read at once.
const logPage = 10_000

// Logs gives a job's lines with after < id and, unless before is 0, id <
// before, in order. A whole log fits. (PRV-22)
func (s *Service) Logs(ctx context.Context, jobID uuid.UUID, after, before int64) ([]coder.ProvisionerJobLog, error) {
	out := []coder.ProvisionerJobLog{}
	for {
		rows, err := s.Store.QueueLogs(ctx, sqlc.QueueLogsParams{JobID: jobID, AfterID: after, BeforeID: before, MaxRows: logPage})
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			out = append(out, coder.ProvisionerJobLog{
				ID: r.ID, CreatedAt: r.CreatedAt, LogSource: coder.LogSource(r.Source),
				LogLevel: coder.LogLevel(r.Level), Stage: r.Stage, Output: r.Output,
			})
			after = r.ID
		}
		if len(rows) < logPage {
			return out, nil
		}
	}
}

// FollowLogs calls each with lines after the given id, in order, as they come.
// It returns nil once the job is over and all was given, or what each said.
func (s *Service) FollowLogs(ctx context.Context, jobID uuid.UUID, after int64, each func([]coder.ProvisionerJobLog) error) error {
	hints, done := s.Hub.Subscribe(notify.Job(jobID))
	defer done()
	backup := time.NewTicker(follow)
	defer backup.Stop()
	for {
		st, err := s.Store.QueueStatus(ctx, jobID) // before the lines: none comes after the end
		if err != nil {
			return err
		}
		lines, err := s.Logs(ctx, jobID, after, 0)
		if err != nil {
			return err
		}
		if len(lines) > 0 {
			after = lines[len(lines)-1].ID
			if err := each(lines); err != nil {
				return err
			}
		}
		if st.CompletedAt != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-hints:
		case <-backup.C:
		}
	}
}
