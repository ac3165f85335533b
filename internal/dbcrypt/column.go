package dbcrypt

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// move opens values with from and seals them with to. plain moves only values in clear.
type move struct {
	from, to *Vault
	plain    bool
}

// digest returns the digest of the values that are already moved.
func (m move) digest() string {
	if !m.to.HasKeys() {
		return ""
	}
	return m.to.keys[0].digest
}

// column is one kind of encrypted value.
type column struct {
	name string // plural, for messages
	late bool   // servers of the previous version read it in clear
	// next moves a batch of rows after an ID, and returns the last ID, the number of rows, and that of
	// moved values. Columns of small tables ignore the ID: moved rows are not selected again.
	next func(ctx context.Context, q *sqlc.Queries, m move, after uuid.UUID) (last uuid.UUID, rows, moved int64, err error)
	// drop deletes the encrypted values and returns their number.
	drop func(ctx context.Context, q *sqlc.Queries) (int64, error)
}

// columns are all encrypted columns.
var columns = []column{
	{"tokens of identity providers", false, moveTokens, func(ctx context.Context, q *sqlc.Queries) (int64, error) { return q.DbcryptDropTokens(ctx) }},
	{"links to external providers", false, moveLinks, func(ctx context.Context, q *sqlc.Queries) (int64, error) { return q.ExternalAuthDropSealed(ctx) }},
	{"user secrets", false, moveUserSecrets, func(ctx context.Context, q *sqlc.Queries) (int64, error) { return q.UserSecretsDropSealed(ctx) }},
	{"signing keys", false, moveKeys, func(ctx context.Context, q *sqlc.Queries) (int64, error) { return q.DbcryptDropKeys(ctx) }},
	{"secrets of the deployment", true, moveSecrets, func(ctx context.Context, q *sqlc.Queries) (int64, error) { return q.DbcryptDropSecrets(ctx) }},
	{"SSH keys of users", true, moveSSHKeys, func(ctx context.Context, q *sqlc.Queries) (int64, error) { return q.DbcryptDropSSHKeys(ctx) }},
	{"Terraform states", true, moveStates, func(ctx context.Context, q *sqlc.Queries) (int64, error) { return q.DbcryptDropStates(ctx) }},
	{"plans of workspaces", false, movePlans, func(ctx context.Context, q *sqlc.Queries) (int64, error) { return q.DbcryptDropPlans(ctx) }},
	{"template versions with sensitive variables", true, moveVariables, dropVariables},
	{"variables of jobs", false, moveJobVariables, func(ctx context.Context, q *sqlc.Queries) (int64, error) { return q.DbcryptDropJobVariables(ctx) }},
	{"agent tokens", false, moveAgentTokens, func(ctx context.Context, q *sqlc.Queries) (int64, error) { return q.DbcryptDropAgentTokens(ctx) }},
}

// text moves a value of a text column.
func (m move) text(place, value, digest string) (sealed, to string, err error) {
	clear, err := m.from.OpenText(place, value, digest)
	if err != nil {
		return "", "", err
	}
	sealed, to = m.to.SealText(place, clear)
	return sealed, to, nil
}

// bytes moves a value of a bytea column.
func (m move) bytes(place string, value []byte, digest string) (sealed []byte, to string, err error) {
	clear, err := m.from.Open(place, value, digest)
	if err != nil {
		return nil, "", err
	}
	sealed, to = m.to.Seal(place, clear)
	return sealed, to, nil
}

// forEach calls set for each row of a batch.
func forEach[R any](rows []R, err error, set func(R) (uuid.UUID, error)) (last uuid.UUID, n, moved int64, _ error) {
	if err != nil {
		return last, 0, 0, err
	}
	for _, r := range rows {
		if last, err = set(r); err != nil {
			return last, 0, 0, err
		}
	}
	return last, int64(len(rows)), int64(len(rows)), nil
}

func moveTokens(ctx context.Context, q *sqlc.Queries, m move, _ uuid.UUID) (uuid.UUID, int64, int64, error) {
	rows, err := q.DbcryptLinks(ctx, m.digest(), m.plain)
	return forEach(rows, err, func(l sqlc.UserLink) (uuid.UUID, error) {
		t, err := m.from.OpenTokens(l)
		if err != nil {
			return l.UserID, err
		}
		s := m.to.SealTokens(l, t)
		return l.UserID, q.DbcryptSetTokens(ctx, sqlc.DbcryptSetTokensParams{
			UserID: l.UserID, LoginType: l.LoginType,
			AccessToken: s.Access, AccessTokenKeyID: s.AccessKey, RefreshToken: s.Refresh, RefreshTokenKeyID: s.RefreshKey,
		})
	})
}

func moveKeys(ctx context.Context, q *sqlc.Queries, m move, _ uuid.UUID) (uuid.UUID, int64, int64, error) {
	rows, err := q.DbcryptSigningKeys(ctx, m.digest(), m.plain)
	return forEach(rows, err, func(k sqlc.CryptoKey) (uuid.UUID, error) {
		sealed, digest, err := m.bytes(keyPlace(k), k.Secret, k.SecretKeyID)
		if err != nil {
			return uuid.Nil, err
		}
		return uuid.Nil, q.DbcryptSetKey(ctx, sqlc.DbcryptSetKeyParams{Secret: sealed, SecretKeyID: digest, Feature: k.Feature, Sequence: k.Sequence})
	})
}

func moveSecrets(ctx context.Context, q *sqlc.Queries, m move, _ uuid.UUID) (uuid.UUID, int64, int64, error) {
	rows, err := q.DbcryptSecrets(ctx, m.digest(), m.plain)
	return forEach(rows, err, func(r sqlc.DbcryptSecretsRow) (uuid.UUID, error) {
		sealed, digest, err := m.bytes(secretPlace(r.Name), r.Value, r.KeyID)
		if err != nil {
			return uuid.Nil, err
		}
		return uuid.Nil, q.DbcryptSetSecret(ctx, sealed, digest, r.Name)
	})
}

func moveSSHKeys(ctx context.Context, q *sqlc.Queries, m move, after uuid.UUID) (uuid.UUID, int64, int64, error) {
	rows, err := q.DbcryptSSHKeys(ctx, after, m.digest(), m.plain)
	return forEach(rows, err, func(r sqlc.DbcryptSSHKeysRow) (uuid.UUID, error) {
		sealed, digest, err := m.text(sshPlace(r.ID), r.SshPrivateKey, r.SshPrivateKeyKeyID)
		if err != nil {
			return r.ID, err
		}
		return r.ID, q.DbcryptSetSSHKey(ctx, sealed, digest, r.ID)
	})
}

func moveStates(ctx context.Context, q *sqlc.Queries, m move, after uuid.UUID) (uuid.UUID, int64, int64, error) {
	rows, err := q.DbcryptStates(ctx, after, m.digest(), m.plain)
	return forEach(rows, err, func(r sqlc.DbcryptStatesRow) (uuid.UUID, error) {
		sealed, digest, err := m.bytes(statePlace(r.BuildID), r.State, r.KeyID)
		if err != nil {
			return r.BuildID, err
		}
		return r.BuildID, q.DbcryptSetState(ctx, sealed, digest, r.BuildID)
	})
}

func movePlans(ctx context.Context, q *sqlc.Queries, m move, after uuid.UUID) (uuid.UUID, int64, int64, error) {
	rows, err := q.DbcryptPlans(ctx, after, m.digest(), m.plain)
	return forEach(rows, err, func(r sqlc.DbcryptPlansRow) (uuid.UUID, error) {
		sealed, digest, err := m.bytes(planPlace(r.WorkspaceID), r.Plan, r.PlanKeyID)
		if err != nil {
			return r.WorkspaceID, err
		}
		return r.WorkspaceID, q.DbcryptSetPlan(ctx, sealed, digest, r.WorkspaceID)
	})
}

func moveVariables(ctx context.Context, q *sqlc.Queries, m move, after uuid.UUID) (uuid.UUID, int64, int64, error) {
	rows, err := q.DbcryptVariables(ctx, after, m.digest(), m.plain)
	var unchanged int64
	last, n, moved, err := forEach(rows, err, func(r sqlc.DbcryptVariablesRow) (uuid.UUID, error) {
		clear, err := m.from.OpenVariables(r.ID, r.Variables, r.VariablesKeyID)
		if err != nil {
			return r.ID, err
		}
		sealed, digest := m.to.SealVariables(r.ID, clear)
		if digest == r.VariablesKeyID { // no variable has a value
			unchanged++
			return r.ID, nil
		}
		return r.ID, q.DbcryptSetVariables(ctx, sealed, digest, r.ID)
	})
	return last, n, moved - unchanged, err
}

// dropVariables sets sensitive variables to their defaults.
func dropVariables(ctx context.Context, q *sqlc.Queries) (total int64, err error) {
	for after := uuid.Nil; ; {
		rows, err := q.DbcryptVariables(ctx, after, "", false)
		if err != nil || len(rows) == 0 {
			return total, err
		}
		for _, r := range rows {
			for i, v := range r.Variables {
				if v.Sensitive {
					r.Variables[i].Value = v.DefaultValue
				}
			}
			if err := q.DbcryptSetVariables(ctx, r.Variables, "", r.ID); err != nil {
				return total, err
			}
			after = r.ID
			total++
		}
	}
}

func moveJobVariables(ctx context.Context, q *sqlc.Queries, m move, after uuid.UUID) (uuid.UUID, int64, int64, error) {
	rows, err := q.DbcryptJobVariables(ctx, after, m.digest(), m.plain)
	return forEach(rows, err, func(r sqlc.ProvisionerJobVariable) (uuid.UUID, error) {
		sealed, digest, err := m.text(jobPlace(r.JobID), r.Value, r.KeyID)
		if err != nil {
			return r.JobID, err
		}
		return r.JobID, q.DbcryptSetJobVariables(ctx, sealed, digest, r.JobID)
	})
}

func moveAgentTokens(ctx context.Context, q *sqlc.Queries, m move, after uuid.UUID) (uuid.UUID, int64, int64, error) {
	rows, err := q.DbcryptAgentTokens(ctx, after, m.digest(), m.plain)
	return forEach(rows, err, func(r sqlc.WorkspaceAgentToken) (uuid.UUID, error) {
		sealed, digest, err := m.text(agentPlace(r.AgentID), r.Token, r.KeyID)
		if err != nil {
			return r.AgentID, err
		}
		return r.AgentID, q.DbcryptSetAgentToken(ctx, sealed, digest, r.AgentID)
	})
}

// Count is a number of values of one kind.
type Count struct {
	Name string // plural
	N    int64
}

// Counts are the numbers of values that a command changed.
type Counts []Count

// String returns the counts as a list, "nothing" if there are none.
func (c Counts) String() string {
	if len(c) == 0 {
		return "nothing"
	}
	texts := make([]string, len(c))
	for i, n := range c {
		texts[i] = fmt.Sprintf("%d %s", n.N, n.Name)
	}
	return strings.Join(texts, ", ")
}

// run moves all values in batches of a transaction each, with a pause after each batch. Of concurrent
// writers none waits longer than for a batch. Kinds without values are not in the counts.
func (m move) run(ctx context.Context, store *postgres.Store) (counts Counts, err error) {
	for _, c := range columns {
		if c.late && m.to.HasKeys() && !m.to.Ready() {
			continue // it is in clear
		}
		var after uuid.UUID
		n := Count{Name: c.name}
		_, err := postgres.InBatches(ctx, func() (rows int64, err error) {
			var moved int64
			var last uuid.UUID
			err = store.Tx(ctx, func(q *sqlc.Queries) (err error) {
				last, rows, moved, err = c.next(ctx, q, m, after)
				return err
			})
			if err == nil {
				after = last
				n.N += moved
			}
			return rows, err
		})
		if n.N > 0 {
			counts = append(counts, n)
		}
		if err != nil {
			return counts, codersdk.Errorf(codersdk.CodePrecondition,
				"The %s could not be changed; what was changed stays changed, and the command can run again: %s", c.name, err)
		}
	}
	return counts, nil
}
