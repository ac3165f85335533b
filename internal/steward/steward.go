// Package steward has the account that a deployment's operator acts by: it is
// made when the server is started with a token for it, so that whoever runs the
// server can tell it whose word to take, and nobody else need write to its
// database. It is a system account: it is no person, cannot sign in, does not
// count as the first user, and is only as good as the token.
package steward

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Username of the account.
const Username = "coder-k8s-operator"

// lifetime of the token from the server's last start on.
const lifetime = 10 * 365 * 24 * time.Hour

// Admit makes the account and lets the token in as it; earlier tokens of the
// account end. Replicas may do so at once. The token is ten letters or digits,
// a dash, and 22 letters or digits.
func Admit(ctx context.Context, store *postgres.Store, token string) error {
	id, secret, ok := strings.Cut(token, "-")
	if !ok || len(id) != 10 || len(secret) != 22 || !plain(id+secret) {
		return coder.Invalid("operator-token", "must be ten letters or digits, a dash, and 22 letters or digits")
	}
	hash := sha256.Sum256([]byte(secret))
	return store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := q.LockFirstUser(ctx); err != nil {
			return err
		}
		now := time.Now().UTC()
		err := q.StewardInsert(ctx, sqlc.StewardInsertParams{ID: uuid.New(), Email: Username + "@localhost", Username: Username, Name: "Kubernetes operator", Now: now})
		if err != nil {
			return fmt.Errorf("make the operator's account: %w", err)
		}
		if err := q.StewardDropKeys(ctx, Username, id); err != nil {
			return err
		}
		n, err := q.StewardPutKey(ctx, sqlc.StewardPutKeyParams{
			ID: id, SecretHash: hash[:], Scopes: []string{string(coder.APIKeyScopeCoderAll)},
			LifetimeSeconds: int64(lifetime / time.Second), Now: now, ExpiresAt: now.Add(lifetime), Username: Username,
		})
		if err != nil {
			return fmt.Errorf("let the operator in: %w", err)
		}
		if n == 0 {
			return coder.Errorf(coder.CodeConflict, "A user is named %s, which is the operator's account; rename that user", Username)
		}
		return audit.Record(ctx, q, access.Subject{System: true}, audit.Entry{
			Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeAPIKey, Target: "operator", Diff: coder.AuditDiff{"secret": {Secret: true}},
		})
	})
}

func plain(s string) bool {
	for _, c := range s {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}
