package switchboard

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

const (
	// beatInterval is how often a replica writes that it lives.
	beatInterval = 5 * time.Second
	// beatLimit is how long a silent replica counts as alive.
	beatLimit = 30 * time.Second
	// forgetAfter is when the row of a silent replica is deleted.
	forgetAfter = 24 * time.Hour
	// releaseTimeout bounds the note that an agent left; a stale one does little
	// harm.
	releaseTimeout = 5 * time.Second
)

// Replica is one server of those that share a database.
type Replica struct {
	ID           uuid.UUID
	Hostname     string // "": what the system says
	Version      string
	RelayAddress string // where other replicas reach it, "" for nowhere
}

func (b *Board) announce(ctx context.Context) error {
	r := b.c.Replica
	return b.c.Store.ReplicaAnnounce(ctx, sqlc.ReplicaAnnounceParams{
		ID: r.ID, Hostname: r.Hostname, RelayAddress: r.RelayAddress, Version: r.Version, SchemaVersion: postgres.SchemaVersion(), Now: b.c.Now(),
	})
}

func (b *Board) retire(ctx context.Context) error {
	return b.c.Store.ReplicaRetire(ctx, b.c.Now(), b.c.Replica.ID)
}

// heartbeat keeps the row of this replica fresh and deletes old ones.
func (b *Board) heartbeat(ctx context.Context) {
	lifecycle.Poll(ctx, beatInterval, nil, func(ctx context.Context) (bool, error) { //nolint:errcheck // only ctx ends it
		err := b.announce(ctx)
		if err == nil {
			err = b.c.Store.ReplicaForget(ctx, b.c.Now().Add(-forgetAfter))
		}
		if err == nil {
			err = b.c.Store.RelayForget(ctx)
		}
		if err == nil {
			err = b.holdLate(ctx)
		}
		if err != nil && ctx.Err() == nil {
			b.c.Log.WarnContext(ctx, "cannot write the heartbeat of this replica; retrying", "error", err)
		}
		return false, nil
	})
}

// hold writes that an agent's link is here, for the other replicas. What could
// not be written is written with the next beat.
func (b *Board) hold(ctx context.Context, agentID uuid.UUID, e *end) {
	if b.c.Store == nil {
		return
	}
	err := b.c.Store.RelayHold(ctx, sqlc.RelayHoldParams{AgentID: agentID, ReplicaID: b.c.Replica.ID, LinkID: e.id, Now: b.c.Now()})
	if err != nil && ctx.Err() == nil {
		b.c.Log.WarnContext(ctx, "could not write where an agent is", "agent_id", agentID, "error", err)
	}
	e.held.Store(err == nil)
}

// holdLate writes what hold could not.
func (b *Board) holdLate(ctx context.Context) error {
	late := make(map[uuid.UUID]*end)
	b.mu.Lock()
	for id, h := range b.hubs {
		if h.agent != nil && !h.agent.held.Load() {
			late[id] = h.agent
		}
	}
	b.mu.Unlock()
	for id, e := range late {
		b.hold(ctx, id, e)
	}
	return ctx.Err()
}

// release forgets that a link was here.
func (b *Board) release(agentID uuid.UUID, e *end) {
	if b.c.Store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	if err := b.c.Store.RelayRelease(ctx, agentID, e.id); err != nil {
		b.c.Log.Warn("could not write that an agent left", "agent_id", agentID, "error", err)
	}
}
