// Package event notifies users of what happens to workspaces, in the transaction in which it happens.
package event

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Created notifies of a new workspace.
func Created(ctx context.Context, q *sqlc.Queries, actor access.Subject, w sqlc.Workspace, versionID uuid.UUID) error {
	return notification.Enqueue(ctx, q, notification.Event{
		Template: notification.WorkspaceCreated, WorkspaceID: w.ID, VersionID: versionID, InitiatorID: notification.InitiatorOf(actor),
	})
}

// Updated notifies of a start with another version than that of the previous build.
func Updated(ctx context.Context, q *sqlc.Queries, actor access.Subject, workspaceID, versionID uuid.UUID) error {
	e := notification.Event{
		Template: notification.WorkspaceUpdated, WorkspaceID: workspaceID, VersionID: versionID, InitiatorID: notification.InitiatorOf(actor),
	}
	if actor.System {
		e.Template = notification.WorkspaceAutoUpdated
	}
	return notification.Enqueue(ctx, q, e)
}

// Deleted notifies of a workspace that a build deletes.
func Deleted(ctx context.Context, q *sqlc.Queries, w sqlc.Workspace, buildID uuid.UUID) error {
	b, err := q.BuildByID(ctx, buildID)
	if err != nil {
		return err
	}
	e := notification.Event{
		Template: notification.WorkspaceDeleted, WorkspaceID: w.ID, InitiatorID: b.InitiatorID, Labels: map[string]string{"reason": "a user deleted it"},
	}
	if b.Reason == string(codersdk.BuildReasonDormancy) {
		e.InitiatorID, e.Labels["reason"] = uuid.Nil, "it was dormant for too long"
	}
	return notification.Enqueue(ctx, q, e)
}

// Dormant notifies of a workspace that became dormant.
func Dormant(ctx context.Context, q *sqlc.Queries, actor access.Subject, w sqlc.Workspace, reason string) error {
	labels := map[string]string{"reason": reason}
	if w.DeletingAt != nil {
		labels["deleting_at"] = w.DeletingAt.UTC().Format(time.RFC1123)
	}
	return notification.Enqueue(ctx, q, notification.Event{
		Template: notification.WorkspaceDormant, WorkspaceID: w.ID, InitiatorID: notification.InitiatorOf(actor), Labels: labels,
	})
}

// maxError bounds the error of a build in a notification, in bytes.
const maxError = 500

// Failed notifies of a failed build, unless it is of a prebuilt workspace, whose failures package prebuild reports.
// It is not for builds that a user canceled.
func Failed(ctx context.Context, q *sqlc.Queries, buildID uuid.UUID, reason string) error {
	b, err := q.BuildByID(ctx, buildID)
	if err != nil {
		return err
	}
	if b.InitiatorID == codersdk.PrebuildsUserID() {
		return nil
	}
	if len(reason) > maxError {
		reason = reason[:maxError]
	}
	e := notification.Event{
		Template: notification.WorkspaceBuildFailed, WorkspaceID: b.WorkspaceID, VersionID: b.TemplateVersionID, InitiatorID: b.InitiatorID,
		Labels: map[string]string{"transition": b.Transition, "build_number": strconv.Itoa(int(b.BuildNumber)), "error": reason, "reason": b.Reason},
	}
	switch codersdk.BuildReason(b.Reason) {
	case codersdk.BuildReasonAutostart, codersdk.BuildReasonAutostop, codersdk.BuildReasonDormancy:
		e.Template, e.InitiatorID = notification.WorkspaceAutobuildFailed, uuid.Nil
	}
	return notification.Enqueue(ctx, q, e)
}

// maxReplaced bounds the replaced resources in a notification.
const maxReplaced = 20

// Replaced notifies of resources that a claim of a prebuilt workspace replaced. The initiator is notified too: the
// template causes it. The build has a preset.
func Replaced(ctx context.Context, q *sqlc.Queries, w sqlc.Workspace, b sqlc.WorkspaceBuild, replaced []*provisioner.ResourceReplacement) error {
	v, err := q.WorkspaceVersion(ctx, b.TemplateVersionID)
	if err != nil {
		return err
	}
	owner, err := q.UserByID(ctx, w.OwnerID)
	if err != nil {
		return err
	}
	labels := map[string]string{"name": w.Name, "workspace": w.Name, "workspace_owner_username": owner.Username, "preset": b.PresetID.String()}
	if i := slices.IndexFunc(v.TemplateVersion.Presets, func(p codersdk.StoredPreset) bool { return p.ID == *b.PresetID }); i >= 0 {
		labels["preset"] = v.TemplateVersion.Presets[i].Name
	}
	type resource struct {
		Name      string `json:"name"`      // address in the plan
		Arguments string `json:"arguments"` // that cause the replacement, "" if unknown
	}
	resources := []resource{}
	for _, r := range replaced[:min(len(replaced), maxReplaced)] {
		resources = append(resources, resource{r.GetResource(), strings.Join(r.GetPaths(), ", ")})
	}
	return notification.Enqueue(ctx, q, notification.Event{
		Template: notification.TemplateClaimReplaces, TemplateID: w.TemplateID, VersionID: b.TemplateVersionID,
		Labels: labels, Data: map[string]any{"resources": resources},
	})
}
