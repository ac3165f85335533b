package presence

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Limits of what agents send.
const (
	// LogLimit is how many bytes of log are kept of one agent. (PRV-33)
	LogLimit = 1 << 20
	// logBatch is how many lines a reader gets at once.
	logBatch = 1000
	// appendLimit is how many lines one call may bring.
	appendLimit = 10_000
)

// LogLine is a line as an agent sends it.
type LogLine struct {
	CreatedAt time.Time
	Level     coder.LogLevel
	Output    string
}

// AppendLogs adds lines of one source to an agent's log, as many as fit below
// LogLimit. overflowed says that the limit is reached and nothing more will be
// taken.
func (s *Service) AppendLogs(ctx context.Context, a Agent, source uuid.UUID, lines []LogLine) (overflowed bool, err error) {
	if len(lines) > appendLimit {
		return false, coder.Errorf(coder.CodeTooLarge, "Send at most %d log lines at once", appendLimit)
	}
	p := s.logParams(a, source, lines)
	added, flipped := false, false
	err = s.store.Tx(ctx, func(q *sqlc.Queries) error {
		row, err := q.AgentLogsForUpdate(ctx, a.ID)
		if err != nil {
			return err
		}
		overflowed, added, flipped = row.LogsOverflowed, false, false
		if overflowed || len(p.Output) == 0 {
			return nil
		}
		n, length := 0, int(row.LogsLength)
		for ; n < len(p.Output) && length+len(p.Output[n]) <= LogLimit; n++ {
			length += len(p.Output[n])
		}
		overflowed = n < len(p.Output)
		added, flipped = n > 0, overflowed
		fit := p
		fit.CreatedAt, fit.Level, fit.Output = p.CreatedAt[:n], p.Level[:n], p.Output[:n]
		if n > 0 {
			if err := q.AgentAppendLogs(ctx, fit); err != nil {
				return err
			}
		}
		return q.AgentSetLogs(ctx, a.ID, int32(length), overflowed)
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

// logParams makes lines fit for the database: valid text, known levels, sane times.
func (s *Service) logParams(a Agent, source uuid.UUID, lines []LogLine) sqlc.AgentAppendLogsParams {
	now := s.now()
	p := sqlc.AgentAppendLogsParams{AgentID: a.ID, SourceID: source}
	for _, l := range lines {
		switch l.Level {
		case coder.LogLevelTrace, coder.LogLevelDebug, coder.LogLevelInfo, coder.LogLevelWarn, coder.LogLevelError:
		default:
			l.Level = coder.LogLevelInfo
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

// ExternalLogSource is the source of lines that come without one.
func ExternalLogSource() uuid.UUID { return uuid.MustParse("3b579bf4-1ed8-4b99-87a8-e9a1e3410410") }

// PutLogSource names a source of log lines.
func (s *Service) PutLogSource(ctx context.Context, a Agent, id uuid.UUID, displayName, icon string) (coder.WorkspaceAgentLogSource, error) {
	if id == uuid.Nil {
		return coder.WorkspaceAgentLogSource{}, coder.Invalid("id", "a log source needs an id")
	}
	if displayName = strings.TrimSpace(text(displayName)); displayName == "" {
		return coder.WorkspaceAgentLogSource{}, coder.Invalid("display_name", "a log source needs a name to show")
	}
	row, err := s.store.AgentPutLogSource(ctx, sqlc.AgentPutLogSourceParams{
		ID: id, AgentID: a.ID, DisplayName: clip(displayName, 127), Icon: clip(icon, 1024), Now: s.now(),
	})
	if err != nil {
		return coder.WorkspaceAgentLogSource{}, err
	}
	s.changed(a)
	return coder.WorkspaceAgentLogSource{
		ID: row.ID, WorkspaceAgentID: row.AgentID, DisplayName: row.DisplayName, Icon: row.Icon, CreatedAt: row.CreatedAt,
	}, nil
}

// Logs gives the lines of an agent's log with ids between after and before,
// both left out and 0 for no bound.
func (s *Service) Logs(ctx context.Context, actor access.Subject, agentID uuid.UUID, after, before int64) ([]coder.WorkspaceAgentLog, error) {
	if _, err := s.AgentForUser(ctx, actor, agentID, coder.RBACActionRead); err != nil {
		return nil, err
	}
	out := []coder.WorkspaceAgentLog{}
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

func (s *Service) logs(ctx context.Context, agentID uuid.UUID, after, before int64) ([]coder.WorkspaceAgentLog, error) {
	rows, err := s.store.AgentLogs(ctx, sqlc.AgentLogsParams{AgentID: agentID, After: after, Before: before, Count: logBatch})
	if err != nil {
		return nil, err
	}
	out := make([]coder.WorkspaceAgentLog, len(rows))
	for i, r := range rows {
		out[i] = coder.WorkspaceAgentLog{ID: r.ID, SourceID: r.SourceID, CreatedAt: r.CreatedAt, Level: coder.LogLevel(r.Level), Output: r.Output}
	}
	return out, nil
}

// FollowLogs calls each with the lines after the given id, and with more as
// they come, until the agent is off or replaced and all is sent (nil), each
// fails, or ctx ends.
func (s *Service) FollowLogs(ctx context.Context, actor access.Subject, agentID uuid.UUID, after int64, each func([]coder.WorkspaceAgentLog) error) error {
	hint, cancel := s.hub.Subscribe(notify.Agent(agentID))
	defer cancel()
	poll := time.NewTicker(15 * time.Second)
	defer poll.Stop()
	for {
		// The state is read before the lines: what an agent wrote before it went
		// off is then among them.
		a, err := s.AgentForUser(ctx, actor, agentID, coder.RBACActionRead)
		if err != nil {
			return err
		}
		ended := !a.Current || a.Lifecycle == coder.WorkspaceAgentLifecycleOff
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

// text makes s acceptable to the database: UTF-8 without NUL.
func text(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.ContainsRune(s, 0) {
		s = strings.ReplaceAll(s, "\x00", "")
	}
	return s
}

// clip makes s text of at most n bytes, cut between runes.
func clip(s string, n int) string {
	s = text(s)
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(s[:n])
}
