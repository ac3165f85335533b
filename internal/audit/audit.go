// Package audit records changes: one row for each change, written in the transaction that makes the
// change, so that neither can exist without the other. A row outlives its object. Secrets are never
// recorded, only that they changed. (AUD-01)
package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Entry is one change.
type Entry struct {
	Action         codersdk.AuditAction
	ResourceType   codersdk.ResourceType
	ResourceID     uuid.UUID
	OrganizationID uuid.UUID // Nil for objects of the site
	Target         string    // name of the resource as users know it
	Icon           string
	Diff           codersdk.AuditDiff
	// Status is the HTTP status of the response; 0 means the default of the action.
	Status int
	// Fields holds additional data by the conventions of the resource type, such as build_reason or
	// workspace_name; nil for none. It must not contain secrets.
	Fields map[string]any
}

// maxUserAgent is the maximum length of a recorded user agent.
const maxUserAgent = 512

// Record writes e with q in the transaction of the change. User, address, client and request come
// from the actor.
func Record(ctx context.Context, q *sqlc.Queries, actor access.Subject, e Entry) error {
	diff, fields := e.Diff, json.RawMessage(`{}`)
	if diff == nil {
		diff = codersdk.AuditDiff{}
	}
	if actor.Origin.Automatic != "" {
		e.Fields = maps.Clone(e.Fields)
		if e.Fields == nil {
			e.Fields = map[string]any{}
		}
		e.Fields["automatic_actor"] = actor.Origin.Automatic
	}
	if e.Fields != nil {
		b, err := json.Marshal(e.Fields)
		if err != nil {
			return fmt.Errorf("encode audit fields: %w", err)
		}
		fields = b
	}
	row := sqlc.InsertAuditLogParams{
		ID: uuid.New(), OrganizationID: optional(e.OrganizationID), UserID: optional(actor.UserID),
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
	case e.Action == codersdk.AuditActionCreate, e.Action == codersdk.AuditActionLogin, e.Action == codersdk.AuditActionRegister:
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

// Clip truncates a user agent and removes characters that the database rejects.
func Clip(userAgent string) string {
	if len(userAgent) > maxUserAgent {
		userAgent = userAgent[:maxUserAgent]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(userAgent, "\uFFFD"), "\x00", "")
}
