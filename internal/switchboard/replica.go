package switchboard

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

const (
	// beatInterval is how often a replica writes that it lives.
	beatInterval = 5 * time.Second
	// beatLimit is how long a silent replica counts as alive.
	beatLimit = 30 * time.Second
	// forgetAfter is when the row of a silent replica is deleted.
	forgetAfter = 24 * time.Hour
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
		ID: r.ID, Hostname: r.Hostname, RelayAddress: r.RelayAddress, Version: r.Version, Now: b.c.Now(),
	})
}

func (b *Board) retire(ctx context.Context) error {
	return b.c.Store.ReplicaRetire(ctx, b.c.Now(), b.c.Replica.ID)
}

// heartbeat keeps the row of this replica fresh and deletes old ones.
func (b *Board) heartbeat(ctx context.Context) {
	t := time.NewTicker(beatInterval)
	defer t.Stop()
	for {
		err := b.announce(ctx)
		if err == nil {
			err = b.c.Store.ReplicaForget(ctx, b.c.Now().Add(-forgetAfter))
		}
		if err != nil && ctx.Err() == nil {
			b.c.Log.WarnContext(ctx, "could not write that this replica lives", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// Elsewhere says why an agent cannot be reached here although it is
// connected: its control connection is with another replica that lives. It
// gives nil when the agent is here or nowhere. replica is whom the agent's row
// names, or nil.
func (b *Board) Elsewhere(ctx context.Context, agentID uuid.UUID, replica *uuid.UUID) error {
	if b.c.Store == nil || replica == nil || *replica == b.c.Replica.ID || b.Holds(agentID) {
		return nil
	}
	other, err := b.c.Store.ReplicaAlive(ctx, *replica, b.c.Now().Add(-beatLimit))
	if coder.Is(err, coder.CodeNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return coder.Errorf(coder.CodeUnavailable, "The agent is connected to another server of this deployment, %s", other.Hostname).
		WithDetail("connections between servers are not forwarded yet: try again, or address that server")
}
