package queue

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// addLogs appends lines to a locked job's log and returns its new length. At the limit a
// last line says so and further lines are dropped; the job continues.
func (s *Service) addLogs(ctx context.Context, q *sqlc.Queries, row sqlc.ProvisionerJob, logs []*provisionerd.Log) (int32, bool, error) {
	l := linesOf(row, logs, s.Now())
	if len(l.Output) == 0 {
		return l.length, l.overflowed, nil
	}
	return l.length, l.overflowed, q.QueueAddLogs(ctx, l.QueueAddLogsParams)
}

// lines are new rows of a job's log, and the length of the log with them.
type lines struct {
	sqlc.QueueAddLogsParams
	length     int32
	overflowed bool
}

// linesOf returns the rows of log lines from a provisioner.
func linesOf(row sqlc.ProvisionerJob, logs []*provisionerd.Log, now time.Time) lines {
	p := lines{QueueAddLogsParams: sqlc.QueueAddLogsParams{JobID: row.ID}, length: row.LogsLength, overflowed: row.LogsOverflowed}
	if p.overflowed {
		return p
	}
	for _, l := range logs {
		output, stage := clean(l.Output, maxLine), clean(l.Stage, 200)
		size := int32(max(len(output)+len(stage), minLine))
		if p.overflowed = p.length+size > maxLogs; p.overflowed {
			l = &provisionerd.Log{Level: provisioner.LogLevel_WARN, CreatedAt: l.CreatedAt}
			output = fmt.Sprintf("The log has reached its limit of %d KiB; further lines are dropped.", maxLogs>>10)
			size = 0
		}
		p.length += size
		p.CreatedAt = append(p.CreatedAt, sane(l.CreatedAt, now))
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

// note appends a line of the server to a locked job's log.
func (s *Service) note(ctx context.Context, q *sqlc.Queries, row sqlc.ProvisionerJob, level provisioner.LogLevel, output string) error {
	length, overflowed, err := s.addLogs(ctx, q, row, []*provisionerd.Log{{
		Source: provisionerd.LogSource_PROVISIONER_DAEMON, Level: level, CreatedAt: s.Now().UnixMilli(), Output: output,
	}})
	if err != nil {
		return err
	}
	return q.QueueSetLogs(ctx, length, overflowed, row.ID)
}

// sane returns the time of a daemon's clock, or now if that clock is far off.
func sane(ms int64, now time.Time) time.Time {
	t := time.UnixMilli(ms)
	if t.Before(now.Add(-24*time.Hour)) || t.After(now.Add(time.Hour)) {
		return now
	}
	return t
}

// clean returns text that PostgreSQL and JSON accept: valid UTF-8 without NUL, truncated to
// about limit bytes with a mark.
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

func sourceOf(s provisionerd.LogSource) codersdk.LogSource {
	if s == provisionerd.LogSource_PROVISIONER {
		return codersdk.LogSourceProvisioner
	}
	return codersdk.LogSourceProvisionerDaemon
}

func levelOf(l provisioner.LogLevel) codersdk.LogLevel {
	switch l {
	case provisioner.LogLevel_TRACE:
		return codersdk.LogLevelTrace
	case provisioner.LogLevel_DEBUG:
		return codersdk.LogLevelDebug
	case provisioner.LogLevel_WARN:
		return codersdk.LogLevelWarn
	case provisioner.LogLevel_ERROR:
		return codersdk.LogLevelError
	}
	return codersdk.LogLevelInfo
}

// logPage is the number of lines that one query reads.
const logPage = 10_000

// Logs returns a job's lines with after < id and, unless before is 0, id < before, in
// order. The log limit bounds the result. (PRV-22)
func (s *Service) Logs(ctx context.Context, jobID uuid.UUID, after, before int64) ([]codersdk.ProvisionerJobLog, error) {
	out := []codersdk.ProvisionerJobLog{}
	for {
		rows, err := s.Store.QueueLogs(ctx, sqlc.QueueLogsParams{JobID: jobID, AfterID: after, BeforeID: before, MaxRows: logPage})
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			out = append(out, codersdk.ProvisionerJobLog{
				ID: r.ID, CreatedAt: r.CreatedAt, LogSource: codersdk.LogSource(r.Source),
				LogLevel: codersdk.LogLevel(r.Level), Stage: r.Stage, Output: r.Output,
			})
			after = r.ID
		}
		if len(rows) < logPage {
			return out, nil
		}
	}
}

// FollowLogs calls each with new lines after the given ID, in order. It returns nil after
// the last line of a finished job, or the error of each.
func (s *Service) FollowLogs(ctx context.Context, jobID uuid.UUID, after int64, each func([]codersdk.ProvisionerJobLog) error) error {
	hints, done := s.Hub.Subscribe(notify.Job(jobID))
	defer done()
	return lifecycle.Poll(ctx, follow, hints, func(ctx context.Context) (bool, error) {
		st, err := s.Store.QueueStatus(ctx, jobID) // before the lines: no line is added after the end
		if err != nil {
			return false, err
		}
		lines, err := s.Logs(ctx, jobID, after, 0)
		if err != nil {
			return false, err
		}
		if len(lines) > 0 {
			after = lines[len(lines)-1].ID
			if err := each(lines); err != nil {
				return false, err
			}
		}
		return st.CompletedAt != nil, nil
	})
}
