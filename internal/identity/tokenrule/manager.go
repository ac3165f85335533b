package tokenrule

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Manages reports whether the actor can do the action on the tokens of another account: of a service account, as an
// administrator of users or as the user who is responsible for it. It is an error to create a token with more
// permissions than the actor's own; subjectOf returns the roles of the account.
func Manages(
	ctx context.Context,
	q *sqlc.Queries,
	actor access.Subject,
	u sqlc.User,
	action codersdk.RBACAction,
	subjectOf func(context.Context, uuid.UUID) (access.Subject, error),
) (bool, error) {
	if !u.IsServiceAccount || !actor.TokenPermits(action, access.Object{Type: codersdk.RBACResourceAPIKey, OwnerID: u.ID}) {
		return false, nil
	}
	if !actor.Can(codersdk.RBACActionUpdate, access.Object{Type: codersdk.RBACResourceUser, ID: u.ID, OwnerID: u.ID}) {
		row, err := q.ServiceAccount(ctx, u.ID)
		if err != nil || row.ServiceAccount.OwnerID == nil || *row.ServiceAccount.OwnerID != actor.UserID {
			return false, nil //nolint:nilerr // the caller refuses
		}
	}
	if action != codersdk.RBACActionCreate {
		return true, nil
	}
	subject, err := subjectOf(ctx, u.ID)
	if err != nil {
		return false, err
	}
	if actor.CheckHoldsAllOf(subject) != nil {
		return false, codersdk.Errorf(codersdk.CodeForbidden, "The roles of %s have more permissions than yours. Ask an owner to create this token.", u.Username)
	}
	return true, nil
}
