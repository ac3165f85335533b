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

// maxMessage is the largest message with a plan, in bytes. Provisioners of the original accept
// 4 MiB, with tokens that are added later.
const maxMessage = 7 << 19

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

// Build is a build that begins.
type Build struct {
	workspaceID uuid.UUID
	key         []byte
	size        int // bytes of the message to its provisioner without a plan
}

// Of returns the build of a workspace with a source and other inputs.
func Of(workspaceID uuid.UUID, source []byte, b *provisionerd.AcquiredJob_WorkspaceBuild) Build {
	return Build{workspaceID: workspaceID, key: Key(source, b), size: len(source) + proto.Size(b)}
}

// Take removes the plan of a workspace whose build begins. It returns the plan if the key is
// that of the build, the plan is not too old, and the message with it is not too large for any
// provisioner; else nil.
func Take(ctx context.Context, q *sqlc.Queries, vault *dbcrypt.Vault, b Build, now time.Time) ([]byte, error) {
	p, err := q.PlanAheadTake(ctx, b.workspaceID)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return nil, nil
	}
	if err == nil && p.JobID != nil {
		err = q.PlanAheadDropJob(ctx, *p.JobID)
	}
	if err != nil || len(p.Plan) == 0 || len(b.key) == 0 || !bytes.Equal(p.Key, b.key) || now.Sub(p.MadeAt) > MaxAge || len(p.Plan)+b.size > maxMessage {
		return nil, err
	}
	return vault.OpenPlan(b.workspaceID, p.Plan, p.PlanKeyID)
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
