package presence

import (
	"context"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Stats is the usage of an agent: open sessions by kind, bytes that its tunnels carried since it
// started, and the round trip time, 0 if unknown.
type Stats struct {
	SSH, VSCode, JetBrains, ReconnectingPTY int64
	Connections                             int64
	RxBytes, TxBytes                        int64
	LatencyMS                               float64
	// Clients with direct connections, and through the relay.
	Direct, Relayed int64
}

const statsInterval = 30 * time.Second

// Limits of reports, because a workspace may send anything.
const (
	maxSessions  = 10_000
	maxTraffic   = 1 << 44 // bytes between two reports
	maxLatencyMS = 60_000
	// maxBetween is the longest time between two reports that counts as use.
	maxBetween = 2 * statsInterval
)

// reported is the last report of an agent that is connected to this server.
type reported struct {
	at    time.Time
	stats Stats
}

// use is the unwritten usage of an agent.
type use struct {
	workspace, user, template             uuid.UUID
	last                                  Stats
	at                                    time.Time
	any, ssh, vscode, jetbrains, terminal time.Duration
	rx, tx                                int64
	latency                               float64
}

// PutStats stores a usage report and returns the time until the next one. Open sessions keep the
// workspace in use. The database is updated by the next Beat, and the usage by user by the next
// FlushUsage.
func (s *Service) PutStats(_ context.Context, a Agent, st Stats) (time.Duration, error) {
	st = believable(st)
	if st.SSH+st.VSCode+st.JetBrains+st.ReconnectingPTY > 0 {
		s.live.touch(a.WorkspaceID, s.now())
	}
	s.live.count(a, st, s.now())
	return statsInterval, nil
}

func believable(st Stats) Stats {
	for _, n := range []*int64{&st.SSH, &st.VSCode, &st.JetBrains, &st.ReconnectingPTY, &st.Connections, &st.Direct, &st.Relayed} {
		*n = min(max(*n, 0), maxSessions)
	}
	st.RxBytes, st.TxBytes = max(st.RxBytes, 0), max(st.TxBytes, 0)
	if !(st.LatencyMS > 0 && st.LatencyMS <= maxLatencyMS) || math.IsNaN(st.LatencyMS) {
		st.LatencyMS = 0
	}
	return st
}

// count adds a report to the unwritten usage.
func (l *live) count(a Agent, st Stats, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	agent := l.agents[a.ID]
	if agent == nil {
		return
	}
	since, rx, tx := statsInterval, int64(0), int64(0)
	if before := agent.reported; !before.at.IsZero() { // the first report is only the starting point
		since = min(max(now.Sub(before.at), 0), maxBetween)
		if rx, tx = st.RxBytes, st.TxBytes; rx >= before.stats.RxBytes && tx >= before.stats.TxBytes { // otherwise the agent restarted
			rx, tx = rx-before.stats.RxBytes, tx-before.stats.TxBytes
		}
	}
	agent.reported = reported{now, st}
	u := l.uses[a.ID]
	if u == nil {
		u = &use{}
		l.uses[a.ID] = u
	}
	u.workspace, u.user, u.template, u.last, u.at = a.WorkspaceID, a.OwnerID, a.TemplateID, st, now
	for _, x := range []struct {
		open int64
		sum  *time.Duration
	}{{st.SSH, &u.ssh}, {st.VSCode, &u.vscode}, {st.JetBrains, &u.jetbrains}, {st.ReconnectingPTY, &u.terminal},
		{st.SSH + st.VSCode + st.JetBrains + st.ReconnectingPTY, &u.any}} {
		if x.open > 0 {
			*x.sum += since
		}
	}
	u.rx, u.tx = u.rx+min(rx, maxTraffic), u.tx+min(tx, maxTraffic)
	if st.LatencyMS > 0 {
		u.latency = st.LatencyMS
	}
}

// idle reports whether there is nothing to write.
func (u *use) idle() bool { return u.any == 0 && u.rx == 0 && u.tx == 0 }

// FlushUsage writes the usage of agents. A failed write is retried by the next call. A running
// Service calls it every thirty seconds.
func (s *Service) FlushUsage(ctx context.Context) error {
	s.live.mu.Lock()
	uses := s.live.uses
	s.live.uses = map[uuid.UUID]*use{}
	s.live.mu.Unlock()
	p := sqlc.UsageAddParams{Now: s.now()}
	pending := map[uuid.UUID]*use{}
	write := func() error {
		if len(pending) == 0 {
			return nil
		}
		if err := s.store.UsageAdd(ctx, p); err != nil {
			return err
		}
		for id := range pending {
			delete(uses, id)
		}
		p, pending = sqlc.UsageAddParams{Now: s.now()}, map[uuid.UUID]*use{}
		return nil
	}
	for id, u := range uses {
		if u.idle() {
			delete(uses, id)
			continue
		}
		pending[id] = u
		addUse(&p, id, u)
		if len(pending) == sampleBatch {
			if err := write(); err != nil {
				s.live.giveBack(uses)
				return err
			}
		}
	}
	if err := write(); err != nil {
		s.live.giveBack(uses)
		return err
	}
	return nil
}

func addUse(p *sqlc.UsageAddParams, id uuid.UUID, u *use) {
	seconds := func(d time.Duration) int32 { return int32(d.Round(time.Second) / time.Second) }
	p.AgentID, p.WorkspaceID, p.UserID, p.TemplateID = append(
		p.AgentID,
		id,
	), append(
		p.WorkspaceID,
		u.workspace,
	), append(
		p.UserID,
		u.user,
	), append(
		p.TemplateID,
		u.template,
	)
	p.At, p.Seconds = append(p.At, u.at), append(p.Seconds, seconds(u.any))
	p.SshSeconds, p.VscodeSeconds = append(p.SshSeconds, seconds(u.ssh)), append(p.VscodeSeconds, seconds(u.vscode))
	p.JetbrainsSeconds, p.ReconnectingPtySeconds = append(p.JetbrainsSeconds, seconds(u.jetbrains)), append(p.ReconnectingPtySeconds, seconds(u.terminal))
	p.Ssh, p.Vscode = append(p.Ssh, int32(u.last.SSH)), append(p.Vscode, int32(u.last.VSCode))
	p.Jetbrains, p.ReconnectingPty = append(p.Jetbrains, int32(u.last.JetBrains)), append(p.ReconnectingPty, int32(u.last.ReconnectingPTY))
	p.RxBytes, p.TxBytes, p.LatencyMs = append(p.RxBytes, u.rx), append(p.TxBytes, u.tx), append(p.LatencyMs, u.latency)
}

// giveBack returns unwritten usage after a failed write.
func (l *live) giveBack(uses map[uuid.UUID]*use) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, old := range uses {
		u := l.uses[id]
		if u == nil {
			l.uses[id] = old
			continue
		}
		u.any, u.ssh, u.vscode = u.any+old.any, u.ssh+old.ssh, u.vscode+old.vscode
		u.jetbrains, u.terminal = u.jetbrains+old.jetbrains, u.terminal+old.terminal
		u.rx, u.tx = u.rx+old.rx, u.tx+old.tx
	}
}
