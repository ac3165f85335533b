// Package operator admits the Kubernetes operator, which has an account of its own.
package operator

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Username is the name of the Kubernetes operator's account: a system
// account that cannot sign in, is not counted as the first user, and is used
// only with the token that the server was started with.
const Username = "coder-k8s-operator"

// tokenLifetime counts from the last start of the server.
const tokenLifetime = 10 * 365 * 24 * time.Hour

// Admit creates the operator's account if it does not exist, stores the
// token from now on and revokes the account's earlier tokens. The token is ten letters or
// digits, a dash, and 22 letters or digits. Replicas can call Admit
// concurrently.
func Admit(ctx context.Context, store *postgres.Store, token string, now time.Time) error {
	id, secret, _ := strings.Cut(token, "-")
	if !credential.IsToken(token) {
		return codersdk.Invalid("operator-token", "must be ten letters or digits, a dash, and 22 letters or digits")
	}
	hash := sha256.Sum256([]byte(secret))
	return store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := q.LockFirstUser(ctx); err != nil {
			return err
		}
		err := q.OperatorInsert(
			ctx,
			sqlc.OperatorInsertParams{ID: uuid.New(), Email: Username + "@localhost", Username: Username, Name: "Kubernetes operator", Now: now},
		)
		if err != nil {
			return fmt.Errorf("create the operator account: %w", err)
		}
		if err := q.OperatorDropKeys(ctx, Username, id); err != nil {
			return err
		}
		n, err := q.OperatorPutKey(ctx, sqlc.OperatorPutKeyParams{
			ID: id, SecretHash: hash[:], Scopes: []string{string(codersdk.APIKeyScopeCoderAll)},
			LifetimeSeconds: int64(tokenLifetime / time.Second), Now: now, ExpiresAt: now.Add(tokenLifetime), Username: Username,
		})
		if err != nil {
			return fmt.Errorf("store the operator token: %w", err)
		}
		if n == 0 {
			return codersdk.Errorf(codersdk.CodeConflict, "A user is named %s, which is the operator's account; rename that user", Username)
		}
		return audit.Record(ctx, q, access.Subject{System: true}, audit.Entry{
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeAPIKey, Target: "operator", Diff: codersdk.AuditDiff{"secret": {Secret: true}},
		})
	})
}
