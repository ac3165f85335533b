package search

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// Rights returns what the actor can do with each of the workspaces, by ID. Deleted ones are left out.
func Rights(ctx context.Context, store *postgres.Store, actor access.Subject, ids []uuid.UUID) (map[uuid.UUID][]codersdk.RBACAction, error) {
	rows, err := store.AccessToWorkspaces(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[uuid.UUID][]codersdk.RBACAction, len(rows))
	for _, r := range rows {
		o := access.Object{
			Type: codersdk.RBACResourceWorkspace, ID: r.ID, OrganizationID: r.OrganizationID, OwnerID: r.OwnerID,
			UserACL: r.UserACL, GroupACL: r.GroupACL,
		}
		out[r.ID] = []codersdk.RBACAction{}
		for _, action := range access.Actions[o.Type] {
			if actor.Can(action, o) {
				out[r.ID] = append(out[r.ID], action)
			}
		}
	}
	return out, nil
}
