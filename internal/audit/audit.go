// Package audit keeps the record of who changed what: one row per change,
// written in the very transaction that makes the change, so that neither can
// be without the other. A row outlives what it speaks of. Secrets never get
// into it: a changed secret is recorded as changed. (AUD-01)
package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Entry is one change.
type Entry struct {
	Action         coder.AuditAction
	ResourceType   coder.ResourceType
	ResourceID     uuid.UUID
	OrganizationID uuid.UUID // Nil for what belongs to the site
	Target         string    // the name that people know the resource by
	Icon           string
	Diff           coder.AuditDiff
	// Status is the HTTP status of the answer; 0 means the usual one of the action.
	Status int
	// Fields says more, by the conventions of the resource type, such as
	// build_reason or workspace_name; nil for nothing. No secrets.
	Fields map[string]any
}

// maxUserAgent bounds what a client may write into the log about itself.
const maxUserAgent = 512

// Record writes e with q, inside of the change's transaction. The actor gives
// the user, address, client and request.
func Record(ctx context.Context, q *sqlc.Queries, actor access.Subject, e Entry) error {
	diff, fields := e.Diff, json.RawMessage(`{}`)
	if diff == nil {
		diff = coder.AuditDiff{}
	}
	if e.Fields != nil {
		b, err := json.Marshal(e.Fields)
		if err != nil {
			return fmt.Errorf("encode audit fields: %w", err)
		}
		fields = b
	}
	row := sqlc.InsertAuditLogParams{
		ID: uuid.New(), Time: time.Now().UTC(), OrganizationID: optional(e.OrganizationID), UserID: optional(actor.UserID),
		UserAgent: Clip(actor.Origin.UserAgent), ResourceType: string(e.ResourceType), ResourceID: optional(e.ResourceID),
		ResourceTarget: e.Target, ResourceIcon: e.Icon, Action: string(e.Action), Diff: diff,
		StatusCode: int32(status(e)), AdditionalFields: fields, RequestID: actor.Origin.RequestID,
	}
	if ip := actor.Origin.IP; ip.IsValid() {
		row.IP = &ip
	}
	if err := q.InsertAuditLog(ctx, row); err != nil {
		return fmt.Errorf("record %s of %s: %w", e.Action, e.ResourceType, err)
	}
	return nil
}

func status(e Entry) int {
	switch {
	case e.Status != 0:
		return e.Status
	case e.Action == coder.AuditActionCreate, e.Action == coder.AuditActionLogin, e.Action == coder.AuditActionRegister:
		return 201
	}
	return 200
}

func optional(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

// Clip bounds what a client says it is, and makes it what a database takes.
func Clip(userAgent string) string {
	if len(userAgent) > maxUserAgent {
		userAgent = userAgent[:maxUserAgent]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(userAgent, "\uFFFD"), "\x00", "")
}
