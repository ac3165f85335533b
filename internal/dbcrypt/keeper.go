package dbcrypt

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// sealedSince is the schema version whose servers can open the columns that Vault.late seals.
const sealedSince = 10

// Intervals of a Keeper.
const (
	gateInterval = time.Minute   // between checks whether an earlier server still runs
	sealInterval = 6 * time.Hour // between searches for values in clear
)

// checkReady reports whether no server of an earlier version ran in the last hour. Such servers refuse to
// start after that, because they would read sealed values as if they were in clear.
func checkReady(ctx context.Context, q *sqlc.Queries) (bool, error) {
	oldest, err := q.SchemaOldest(ctx)
	if err != nil || oldest >= sealedSince {
		return err == nil, err
	}
	raised, err := q.SchemaRaise(ctx, sealedSince)
	return raised > 0, err
}

// Keeper seals values that are in clear, such as those of servers without keys, and replaces tokens of
// agents by hashes. It is safe on any number of servers: one works at a time.
type Keeper struct {
	Vault *Vault // required
	Store *postgres.Store
	Log   *slog.Logger
	lifecycle.Loop
}

// NewKeeper returns a Keeper.
func NewKeeper(v *Vault, store *postgres.Store, log *slog.Logger) *Keeper {
	k := &Keeper{Vault: v, Store: store, Log: log}
	k.Run = k.run
	return k
}

func (k *Keeper) run(ctx context.Context) {
	err := lifecycle.Poll(ctx, gateInterval, nil, func(ctx context.Context) (bool, error) {
		if !k.Vault.Ready() {
			if err := k.Vault.Admit(ctx, k.Store); err != nil {
				k.Log.WarnContext(ctx, "cannot check whether earlier servers still run; trying again later", "error", err)
			}
		}
		return k.Vault.Ready(), nil
	})
	if err != nil {
		return // stopped
	}
	k.seal(ctx)
	lifecycle.Every(ctx, sealInterval, k.seal)
}

// seal seals what is in clear now, unless another server is doing so.
func (k *Keeper) seal(ctx context.Context) {
	var counts Counts
	_, err := k.Store.Exclusively(ctx, "encryption of columns", func() (err error) {
		counts, err = k.Vault.sealPlain(ctx, k.Store)
		return err
	})
	for _, c := range counts {
		k.Log.InfoContext(ctx, "secured values that were in clear", "what", c.Name, "count", c.N)
	}
	if err != nil && ctx.Err() == nil {
		k.Log.WarnContext(ctx, "cannot encrypt values that are in clear; trying again later", "error", err)
	}
}

// sealPlain hashes tokens of agents, removes values of variables from finished jobs, and seals values in
// clear. The Vault must be ready.
func (v *Vault) sealPlain(ctx context.Context, store *postgres.Store) (counts Counts, err error) {
	for name, batch := range map[string]func(context.Context) (int64, error){
		"hashes of agent tokens": store.DbcryptHashAgentTokens, "inputs of finished jobs": store.DbcryptScrubJobs,
	} {
		n, err := postgres.InBatches(ctx, func() (int64, error) { return batch(ctx) })
		if n > 0 {
			counts = append(counts, Count{name, n})
		}
		if err != nil {
			return counts, err
		}
	}
	if _, err := store.DbcryptForgetJobVariables(ctx); err != nil || !v.HasKeys() {
		return counts, err
	}
	sealed, err := move{from: v, to: v, plain: true}.run(ctx, store)
	return append(counts, sealed...), err
}
