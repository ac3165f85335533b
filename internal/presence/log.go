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
	p := s.logParams(b.Source, b.Lines)
	if a.pending != uuid.Nil {
		overflowed, err := s.appendPending(ctx, a, p)
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
		stored, sequence, next := b.stored(row.LogsSequence, row.LogsNext)
		overflowed, added, flipped = row.LogsOverflowed, false, false
		if overflowed || stored == len(b.Lines) {
			return nil
		}
		n, length := fitting(p.Output[stored:], int(row.LogsLength))
		end := stored + n
		overflowed = end < len(b.Lines)
		added, flipped = n > 0, overflowed
		if n > 0 {
			err := q.AgentAppendLogs(ctx, sqlc.AgentAppendLogsParams{
				AgentID: a.ID, SourceID: p.SourceID, CreatedAt: p.CreatedAt[stored:end], Level: p.Level[stored:end], Output: p.Output[stored:end],
			})
			if err != nil {
				return err
			}
		}
		return q.AgentSetLogs(ctx, sqlc.AgentSetLogsParams{
			ID: a.ID, LogsLength: int32(length), LogsOverflowed: overflowed, LogsSequence: sequence, LogsNext: next,
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

// stored returns how many lines of the batch a log has, from the first. sequence is that of the log's
// last numbered line, and next the number after that line; it also returns both as they are after the
// log has the batch.
func (b LogBatch) stored(sequence *uuid.UUID, next int64) (int, *uuid.UUID, int64) {
	if b.Sequence == uuid.Nil {
		return 0, sequence, next
	}
	end := b.First + int64(len(b.Lines))
	if sequence == nil || *sequence != b.Sequence || next < b.First {
		return 0, &b.Sequence, end
	}
	return int(min(next-b.First, int64(len(b.Lines)))), sequence, max(next, end)
}

// logParams returns the lines in the form of the database: valid text, known levels, plausible times.
func (s *Service) logParams(source uuid.UUID, lines []LogLine) sqlc.AgentAppendLogsParams {
	now := s.now()
	p := sqlc.AgentAppendLogsParams{SourceID: source}
	for _, l := range lines {
		switch l.Level {
		case codersdk.LogLevelTrace, codersdk.LogLevelDebug, codersdk.LogLevelInfo, codersdk.LogLevelWarn, codersdk.LogLevelError:
		default:
			l.Level = codersdk.LogLevelInfo
		}
		if l.CreatedAt.IsZero() || l.CreatedAt.After(now.Add(time.Minute)) || l.CreatedAt.Year() < 2000 {
			l.CreatedAt = now
		}
		p.CreatedAt = append(p.CreatedAt, l.CreatedAt)
		p.Level = append(p.Level, string(l.Level))
		p.Output = append(p.Output, text(l.Output))
	}
	return p
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
