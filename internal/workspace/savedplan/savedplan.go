// Package savedplan keeps the plan of the next start of a workspace in the database: sealed,
// with a key of everything that the plan read. It is returned once, and only for a build with
// the same inputs.
package savedplan

import (
	"bytes"
	"context"
	"crypto/sha256"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// MaxAge is the age from which plans are not used. Templates that vouch for the providers
// that they use do so for this time.
const MaxAge = 24 * time.Hour

// maxKept is the largest packed plan that is kept, in bytes.
const maxKept = 3 << 20

// maxMessage is the largest message with a plan, in bytes. Provisioners of the original accept
// 4 MiB, with tokens that are added later.
const maxMessage = 7 << 19

// Strip removes from the inputs of a build what is issued for it alone. A plan of a template
// that package ahead admits does not depend on it.
func Strip(b *provisionerd.AcquiredJob_WorkspaceBuild) {
	b.SavedPlan, b.ExternalAuthProviders = nil, nil
	if m := b.Metadata; m != nil {
		m.WorkspaceOwnerSessionToken, m.WorkspaceOwnerOidcAccessToken = "", ""
	}
}

// Key returns the SHA-256 of the source of a build and of its inputs, except those that Strip
// removes and the ID of the build. A field that is added to the inputs is part of the key.
func Key(source []byte, b *provisionerd.AcquiredJob_WorkspaceBuild) []byte {
	b = proto.CloneOf(b)
	Strip(b)
	b.WorkspaceBuildId = ""
	if b.Metadata != nil {
		b.Metadata.WorkspaceBuildId = ""
	}
	inputs, err := proto.MarshalOptions{Deterministic: true}.Marshal(b)
	if err != nil {
		return nil // text that is not UTF-8, which cannot be sent either
	}
	h := sha256.New()
	for _, part := range [][]byte{source, inputs} {
		sum := sha256.Sum256(part)
		h.Write(sum[:])
	}
	return h.Sum(nil)
}

// Plan is a plan that was removed from the database. The zero value is none.
type Plan struct{ row sqlc.WorkspacePlan }

// Take removes and returns the plan of a workspace whose build begins.
func Take(ctx context.Context, q *sqlc.Queries, workspaceID uuid.UUID) (Plan, error) {
	p, err := q.PlanAheadTake(ctx, workspaceID)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return Plan{}, nil
	}
	if err == nil && p.JobID != nil {
		err = q.PlanAheadDropJob(ctx, *p.JobID)
	}
	return Plan{p}, err
}

// Storage opens and stores plans.
type Storage struct {
	Vault   *dbcrypt.Vault
	Metrics *Metrics
}

// Open returns a plan if its key is that of a build, it is not too old, and the message with
// it is not too large for any provisioner; else nil.
func (s Storage) Open(p Plan, source []byte, b *provisionerd.AcquiredJob_WorkspaceBuild, now time.Time) ([]byte, error) {
	r, why := p.row, ""
	switch {
	case len(r.Plan) == 0:
		return nil, nil
	case now.Sub(r.MadeAt) > MaxAge:
		why = reasonOld
	case len(r.Plan)+len(source)+proto.Size(b) > maxMessage:
		why = reasonLarge
	case len(r.Key) == 0 || !bytes.Equal(r.Key, Key(source, b)):
		why = reasonStale
	}
	if why != "" {
		s.Metrics.discard(why, 1)
		return nil, nil
	}
	return s.Vault.OpenPlan(r.WorkspaceID, r.Plan, r.PlanKeyID)
}

// Put stores the plan that a job made, unless it is too large or a build of the workspace began
// meanwhile. why is the reason why it is not kept.
func (s Storage) Put(ctx context.Context, q *sqlc.Queries, jobID uuid.UUID, plan []byte, now time.Time) (why string, err error) {
	p, err := q.PlanAheadOf(ctx, jobID)
	switch {
	case codersdk.Is(err, codersdk.CodeNotFound):
		return "", nil // a build began, or another job plans
	case err != nil:
		return "", err
	case len(plan) == 0:
		return "the provisioner returned no plan", nil
	case len(plan) > maxKept:
		return "the plan is too large", nil
	}
	sealed, digest := s.Vault.SealPlan(p.WorkspaceID, plan)
	n, err := q.PlanAheadMade(ctx, sqlc.PlanAheadMadeParams{Plan: sealed, PlanKeyID: digest, Now: now, JobID: jobID})
	if err == nil && n > 0 {
		s.Metrics.store()
	}
	return "", err
}
