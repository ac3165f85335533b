package codersdk

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// WorkspaceActivity explains when a workspace stops automatically, or why it stopped.
// It is an addition to Coder's API.
type WorkspaceActivity struct {
	// Reasons are sentences for users, the most important first.
	Reasons []string `json:"reasons"`
	// Deadline is when a running workspace stops; nil if it does not stop automatically.
	Deadline *time.Time `json:"deadline"`
	// MaxDeadline is the time beyond which no activity extends the deadline.
	MaxDeadline *time.Time `json:"max_deadline"`
	// ActivityBumpMS is how far activity moves the deadline ahead; 0 if it does not.
	ActivityBumpMS int64 `json:"activity_bump_ms"`
	// LastUsedAt is the last activity that counts.
	LastUsedAt time.Time          `json:"last_used_at"`
	Evidence   []ActivityEvidence `json:"evidence"`
}

// ActivityEvidence is what the connection log has about one type of connection.
type ActivityEvidence struct {
	Type ConnectionType `json:"type"`
	// Counts reports that open connections of the type extend the deadline.
	Counts bool `json:"counts"`
	// Open is the number of open connections.
	Open int64 `json:"open"`
	// LastAt is when the last connection was open, within a week; nil if there was none.
	LastAt *time.Time `json:"last_at"`
}

// WorkspacePlanAhead is whether the next start of a workspace is planned. It is an addition
// to Coder's API.
type WorkspacePlanAhead struct {
	// Enabled reports whether the server plans ahead.
	Enabled bool `json:"enabled"`
	// PlannedAt is when the start was planned; nil without a plan.
	PlannedAt *time.Time `json:"planned_at"`
	// Reason is why there is no plan, for users; "" with a plan.
	Reason string `json:"reason"`
}

// WorkspaceActivity explains when a workspace stops automatically, or why it stopped.
func (c *Client) WorkspaceActivity(ctx context.Context, id uuid.UUID) (out WorkspaceActivity, err error) {
	err = c.do(ctx, "GET", "/workspaces/"+id.String()+"/activity", nil, nil, &out)
	return out, err
}
