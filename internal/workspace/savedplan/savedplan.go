// Package savedplan keeps the plan of the next start of a workspace in the database: sealed,
// with a key of everything that the plan read. Take returns it only for a build with the same
// inputs.
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

// Strip removes from the inputs of a build what is issued for it alone. A plan of a template
// that package ahead admits does not depend on it.
func Strip(b *provisionerd.AcquiredJob_WorkspaceBuild) *provisionerd.AcquiredJob_WorkspaceBuild {
	b = proto.CloneOf(b)
	b.SavedPlan, b.ExternalAuthProviders = nil, nil
	if m := b.Metadata; m != nil {
		m.WorkspaceOwnerSessionToken, m.WorkspaceOwnerOidcAccessToken = "", ""
	}
	return b
}

// Key returns the SHA-256 of the source of a build and of its inputs, except those that Strip
// removes and the ID of the build. A field that is added to the inputs is part of the key.
func Key(source []byte, b *provisionerd.AcquiredJob_WorkspaceBuild) []byte {
	b = Strip(b)
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

// Take removes the plan of a workspace whose build begins. It returns the plan if the key is
// that of the build and the plan is not too old, else nil.
func Take(ctx context.Context, q *sqlc.Queries, vault *dbcrypt.Vault, workspaceID uuid.UUID, key []byte, now time.Time) ([]byte, error) {
	p, err := q.PlanAheadTake(ctx, workspaceID)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return nil, nil
	}
	if err == nil && p.JobID != nil {
		err = q.PlanAheadDropJob(ctx, *p.JobID)
	}
	if err != nil || len(p.Plan) == 0 || len(key) == 0 || !bytes.Equal(p.Key, key) || now.Sub(p.MadeAt) > MaxAge {
		return nil, err
	}
	return vault.OpenPlan(workspaceID, p.Plan, p.PlanKeyID)
}

// Put stores the plan that a job made, unless it is too large or a build of the workspace began
// meanwhile. why is the reason why it is not kept.
func Put(ctx context.Context, q *sqlc.Queries, vault *dbcrypt.Vault, jobID uuid.UUID, plan []byte, now time.Time) (why string, err error) {
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
	sealed, digest := vault.SealPlan(p.WorkspaceID, plan)
	_, err = q.PlanAheadMade(ctx, sqlc.PlanAheadMadeParams{Plan: sealed, PlanKeyID: digest, Now: now, JobID: jobID})
	return "", err
}
