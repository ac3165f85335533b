package presence

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Limits of what agents send.
const (
	// LogLimit is the maximum size of an agent's log in bytes. (PRV-33)
	LogLimit = 1 << 20
	// logBatch is the number of lines that a reader gets at once.
	logBatch = 1000
	// appendLimit is the maximum number of lines in one call.
	appendLimit = 10_000
)

// LogLine is a line as sent by an agent.
type LogLine struct {
	CreatedAt time.Time
	Level     codersdk.LogLevel
	Output    string
}

// LogBatch is consecutive lines of one source.
type LogBatch struct {
	Source uuid.UUID
	Lines  []LogLine
	// Sequence identifies the numbers that an agent gave to its lines, from 0; First is the number
	// of the first line. The log stores each number once. uuid.Nil means lines without numbers.
	Sequence uuid.UUID
	First    int64
}

// AppendLogs appends lines to an agent's log, up to LogLimit. overflowed is true once the limit is
// reached; further lines are dropped.
func (s *Service) AppendLogs(ctx context.Context, a Agent, b LogBatch) (overflowed bool, err error) {
	if len(b.Lines) > appendLimit {
		return false, codersdk.Errorf(codersdk.CodeTooLarge, "At most %d log lines are allowed in one request", appendLimit)
	}
	lines := s.storable(b.Lines)
	if a.pending != uuid.Nil {
		overflowed, err := s.appendPending(ctx, a, b.Source, lines)
		if !codersdk.Is(err, codersdk.CodeNotFound) {
			return overflowed, err
		}
		if a, err = s.AuthenticateAgent(ctx, a.token.String()); err != nil {
			return false, err
		}
	}
	added, flipped := false, false
	err = s.store.Tx(ctx, func(q *sqlc.Queries) error {
		row, err := q.AgentLogsForUpdate(ctx, a.ID)
		if err != nil {
			return err
		}
		sequence, next := row.LogsSequence, row.LogsNext
		missing := lines.from(b.known(sequence, next))
		overflowed, added, flipped = row.LogsOverflowed, false, false
		if overflowed || missing.len() == 0 {
			return nil
		}
		if b.Sequence != uuid.Nil {
			sequence, next = &b.Sequence, b.First+int64(len(b.Lines))
		}
		fit, length := missing.fitting(row.LogsLength)
		overflowed = fit.len() < missing.len()
		added, flipped = fit.len() > 0, overflowed
		if added {
			err := q.AgentAppendLogs(ctx, sqlc.AgentAppendLogsParams{
				AgentID: a.ID, SourceID: b.Source, CreatedAt: fit.times, Level: fit.levels, Output: fit.outputs,
			})
			if err != nil {
				return err
			}
		}
		return q.AgentSetLogs(ctx, sqlc.AgentSetLogsParams{
			ID: a.ID, LogsLength: length, LogsOverflowed: overflowed, LogsSequence: sequence, LogsNext: next,
		})
	})
	if err != nil {
		return false, err
	}
	if flipped {
		s.changed(a)
	} else if added {
		s.hub.Publish(notify.Agent(a.ID))
	}
	return overflowed, nil
}

// known returns how many of the batch's first lines a log has. The log's last numbered line belongs to
// sequence, and has the number before next.
func (b LogBatch) known(sequence *uuid.UUID, next int64) int {
	if b.Sequence == uuid.Nil || sequence == nil || *sequence != b.Sequence || next < b.First {
		return 0
	}
	return int(min(next-b.First, int64(len(b.Lines))))
}

// logColumns are log lines in the form of the database: index i of each column is the line i.
type logColumns struct {
	times   []time.Time
	levels  []string
	outputs []string
}

func (c logColumns) len() int { return len(c.outputs) }

// from returns the lines from index n on.
func (c logColumns) from(n int) logColumns {
	return logColumns{c.times[n:], c.levels[n:], c.outputs[n:]}
}

// fitting returns the first lines that a log of length bytes can take below LogLimit, and its length with
// them.
func (c logColumns) fitting(length int32) (logColumns, int32) {
	n, with := 0, int(length)
	for ; n < c.len() && with+len(c.outputs[n]) <= LogLimit; n++ {
		with += len(c.outputs[n])
	}
	return logColumns{c.times[:n], c.levels[:n], c.outputs[:n]}, int32(with)
}

// storable returns lines with valid text, known levels and plausible times.
func (s *Service) storable(lines []LogLine) (c logColumns) {
	now := s.now()
	for _, l := range lines {
		switch l.Level {
		case codersdk.LogLevelTrace, codersdk.LogLevelDebug, codersdk.LogLevelInfo, codersdk.LogLevelWarn, codersdk.LogLevelError:
		default:
			l.Level = codersdk.LogLevelInfo
		}
		if l.CreatedAt.IsZero() || l.CreatedAt.After(now.Add(time.Minute)) || l.CreatedAt.Year() < 2000 {
			l.CreatedAt = now
		}
		c.times = append(c.times, l.CreatedAt)
		c.levels = append(c.levels, string(l.Level))
		c.outputs = append(c.outputs, text(l.Output))
	}
	return c
}

// ExternalLogSource is the source of lines without a source.
func ExternalLogSource() uuid.UUID { return uuid.MustParse("3b579bf4-1ed8-4b99-87a8-e9a1e3410410") }

// PutLogSource names a source of log lines.
func (s *Service) PutLogSource(ctx context.Context, a Agent, id uuid.UUID, displayName, icon string) (codersdk.WorkspaceAgentLogSource, error) {
	if id == uuid.Nil {
		return codersdk.WorkspaceAgentLogSource{}, codersdk.Invalid("id", "is required for a log source")
	}
	if displayName = strings.TrimSpace(text(displayName)); displayName == "" {
		return codersdk.WorkspaceAgentLogSource{}, codersdk.Invalid("display_name", "is required for a log source")
	}
	if a.pending != uuid.Nil {
		src := codersdk.WorkspaceAgentLogSource{ID: id, DisplayName: truncate(displayName, 127), Icon: truncate(icon, 1024), CreatedAt: s.now()}
		err := s.putPendingLogSource(ctx, a, src)
		if !codersdk.Is(err, codersdk.CodeNotFound) {
			return src, err
		}
		if a, err = s.AuthenticateAgent(ctx, a.token.String()); err != nil {
			return src, err
		}
	}
	row, err := s.store.AgentPutLogSource(ctx, sqlc.AgentPutLogSourceParams{
		ID: id, AgentID: a.ID, DisplayName: truncate(displayName, 127), Icon: truncate(icon, 1024), Now: s.now(),
	})
	if err != nil {
		return codersdk.WorkspaceAgentLogSource{}, err
	}
	s.changed(a)
	return codersdk.WorkspaceAgentLogSource{
		ID: row.ID, WorkspaceAgentID: row.AgentID, DisplayName: row.DisplayName, Icon: row.Icon, CreatedAt: row.CreatedAt,
	}, nil
}

// Logs returns the lines of an agent's log with IDs between after and before, both exclusive; 0 means
// no bound.
func (s *Service) Logs(ctx context.Context, actor access.Subject, agentID uuid.UUID, after, before int64) ([]codersdk.WorkspaceAgentLog, error) {
	if _, err := s.AgentForUser(ctx, actor, agentID, codersdk.RBACActionRead); err != nil {
		return nil, err
	}
	out := []codersdk.WorkspaceAgentLog{}
	for {
		batch, err := s.logs(ctx, agentID, after, before)
		if err != nil {
			return nil, err
		}
		out = append(out, batch...)
		if len(batch) < logBatch {
			return out, nil
		}
		after = batch[len(batch)-1].ID
	}
}

func (s *Service) logs(ctx context.Context, agentID uuid.UUID, after, before int64) ([]codersdk.WorkspaceAgentLog, error) {
	rows, err := s.store.AgentLogs(ctx, sqlc.AgentLogsParams{AgentID: agentID, After: after, Before: before, Count: logBatch})
	if err != nil {
		return nil, err
	}
	out := make([]codersdk.WorkspaceAgentLog, len(rows))
	for i, r := range rows {
		out[i] = codersdk.WorkspaceAgentLog{ID: r.ID, SourceID: r.SourceID, CreatedAt: r.CreatedAt, Level: codersdk.LogLevel(r.Level), Output: r.Output}
	}
	return out, nil
}

// FollowLogs calls each with the lines after the given ID, and with new lines, until the agent is off
// or replaced and all lines are sent (nil), each fails, or ctx ends.
func (s *Service) FollowLogs(ctx context.Context, actor access.Subject, agentID uuid.UUID, after int64, each func([]codersdk.WorkspaceAgentLog) error) error {
	hint, cancel := s.hub.Subscribe(notify.Agent(agentID))
	defer cancel()
	poll := time.NewTicker(15 * time.Second)
	defer poll.Stop()
	for {
		// The state is read before the lines, so that they include everything that the agent
		// wrote before it went off.
		a, err := s.AgentForUser(ctx, actor, agentID, codersdk.RBACActionRead)
		if err != nil {
			return err
		}
		ended := !a.Current || a.Lifecycle == codersdk.WorkspaceAgentLifecycleOff
		for {
			batch, err := s.logs(ctx, agentID, after, 0)
			if err != nil {
				return err
			}
			if len(batch) > 0 {
				if err := each(batch); err != nil {
					return err
				}
				after = batch[len(batch)-1].ID
			}
			if len(batch) < logBatch {
				break
			}
		}
		if ended {
			return nil
		}
		select {
		case <-hint:
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// text returns s as valid UTF-8 without NUL.
func text(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.ContainsRune(s, 0) {
		s = strings.ReplaceAll(s, "\x00", "")
	}
	return s
}

// truncate truncates s to at most n bytes between runes.
func truncate(s string, n int) string {
	s = text(s)
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(s[:n])
}
