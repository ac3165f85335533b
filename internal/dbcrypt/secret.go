package dbcrypt

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Tokens are the tokens of an identity provider in clear.
type Tokens struct{ Access, Refresh string }

// SealedTokens are tokens as stored in user_links.
type SealedTokens struct {
	Access, AccessKey   string
	Refresh, RefreshKey string
}

// linkPlace is the place of a token in a row of user_links.
func linkPlace(column string, l sqlc.UserLink) string {
	return "user_links " + column + " " + l.UserID.String() + " " + l.LoginType
}

// SealTokens seals the tokens of a user's account. Of the row only the user and the login type are used.
func (v *Vault) SealTokens(l sqlc.UserLink, t Tokens) (s SealedTokens) {
	s.Access, s.AccessKey = v.SealText(linkPlace("access_token", l), t.Access)
	s.Refresh, s.RefreshKey = v.SealText(linkPlace("refresh_token", l), t.Refresh)
	return s
}

// OpenTokens returns the tokens of a user's account.
func (v *Vault) OpenTokens(l sqlc.UserLink) (t Tokens, err error) {
	if t.Access, err = v.OpenText(linkPlace("access_token", l), l.AccessToken, l.AccessTokenKeyID); err != nil {
		return t, err
	}
	t.Refresh, err = v.OpenText(linkPlace("refresh_token", l), l.RefreshToken, l.RefreshTokenKeyID)
	return t, err
}

// SealKey seals the secret of a signing key.
func (v *Vault) SealKey(k sqlc.CryptoKey) (sealed []byte, digest string) {
	return v.Seal(keyPlace(k), k.Secret)
}

// OpenKey returns the secret of a signing key.
func (v *Vault) OpenKey(k sqlc.CryptoKey) ([]byte, error) {
	return v.Open(keyPlace(k), k.Secret, k.SecretKeyID)
}

func keyPlace(k sqlc.CryptoKey) string { return "crypto_keys secret " + k.Feature }

// SealSecret seals the secret of the deployment with a name.
func (v *Vault) SealSecret(name string, secret []byte) (sealed []byte, digest string) {
	return v.late().Seal(secretPlace(name), secret)
}

// OpenSecret returns the secret of the deployment with a name.
func (v *Vault) OpenSecret(name string, sealed []byte, digest string) ([]byte, error) {
	return v.Open(secretPlace(name), sealed, digest)
}

func secretPlace(name string) string { return "secrets value " + name }

// SealSSHKey seals the private key of a user's git key pair.
func (v *Vault) SealSSHKey(userID uuid.UUID, private string) (sealed, digest string) {
	return v.late().SealText(sshPlace(userID), private)
}

// OpenSSHKey returns the private key of a user's git key pair.
func (v *Vault) OpenSSHKey(userID uuid.UUID, sealed, digest string) (string, error) {
	return v.OpenText(sshPlace(userID), sealed, digest)
}

func sshPlace(id uuid.UUID) string { return "users ssh_private_key " + id.String() }

// PutState stores the Terraform state of a build.
func (v *Vault) PutState(ctx context.Context, q *sqlc.Queries, buildID uuid.UUID, state []byte, now time.Time) error {
	if state == nil {
		state = []byte{}
	}
	sealed, digest := v.late().Seal(statePlace(buildID), state)
	return q.BuildPutState(ctx, sqlc.BuildPutStateParams{BuildID: buildID, State: sealed, KeyID: digest, Now: now})
}

// PutSnapshot stores the Terraform state of a running build and returns 1, unless a later build started
// with the previous state.
func (v *Vault) PutSnapshot(ctx context.Context, q *sqlc.Queries, buildID uuid.UUID, state []byte, now time.Time) (int64, error) {
	sealed, digest := v.late().Seal(statePlace(buildID), state)
	return q.BuildPutSnapshot(ctx, sqlc.BuildPutSnapshotParams{BuildID: buildID, State: sealed, KeyID: digest, Now: now})
}

// StateUpTo returns the initial state of a build of a workspace: that given with it, else that of the last
// earlier build that left one. The error is CodeNotFound if there is none.
func (v *Vault) StateUpTo(ctx context.Context, q *sqlc.Queries, workspaceID uuid.UUID, number int32) ([]byte, error) {
	row, err := q.BuildStateUpTo(ctx, workspaceID, number)
	if err != nil {
		return nil, err
	}
	return v.Open(statePlace(row.BuildID), row.State, row.KeyID)
}

func statePlace(buildID uuid.UUID) string { return "workspace_build_states state " + buildID.String() }

// SealPlan seals the plan of the next build of a workspace.
func (v *Vault) SealPlan(workspaceID uuid.UUID, plan []byte) (sealed []byte, digest string) {
	return v.Seal(planPlace(workspaceID), plan)
}

// OpenPlan returns the plan of the next build of a workspace.
func (v *Vault) OpenPlan(workspaceID uuid.UUID, sealed []byte, digest string) ([]byte, error) {
	return v.Open(planPlace(workspaceID), sealed, digest)
}

func planPlace(workspaceID uuid.UUID) string { return "workspace_plans plan " + workspaceID.String() }

// SealVariables returns the variables of a template version with the values of sensitive ones sealed.
// Defaults are part of the source and stay.
func (v *Vault) SealVariables(versionID uuid.UUID, vs []codersdk.TemplateVersionVariable) (sealed []codersdk.TemplateVersionVariable, digest string) {
	out := slices.Clone(vs)
	for i, x := range vs {
		if !x.Sensitive || x.Value == x.DefaultValue {
			continue
		}
		if value, d := v.late().SealText(variablePlace(versionID, x.Name), x.Value); d != "" {
			out[i].Value, digest = value, d
		}
	}
	return out, digest
}

// OpenVariables returns the variables of a template version with all values in clear.
func (v *Vault) OpenVariables(versionID uuid.UUID, vs []codersdk.TemplateVersionVariable, digest string) ([]codersdk.TemplateVersionVariable, error) {
	out := slices.Clone(vs)
	for i, x := range vs {
		if !x.Sensitive || x.Value == x.DefaultValue {
			continue
		}
		var err error
		if out[i].Value, err = v.OpenText(variablePlace(versionID, x.Name), x.Value, digest); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func variablePlace(versionID uuid.UUID, name string) string {
	return "template_versions variables " + versionID.String() + " " + name
}

// PutJobVariables stores values of variables that were given with a job, until it ends.
func (v *Vault) PutJobVariables(ctx context.Context, q *sqlc.Queries, jobID uuid.UUID, values []codersdk.VariableValue) error {
	if len(values) == 0 {
		return nil
	}
	text, err := json.Marshal(values)
	if err != nil {
		return err
	}
	sealed, digest := v.SealText(jobPlace(jobID), string(text))
	return q.JobVariablesPut(ctx, jobID, sealed, digest)
}

// JobVariables returns the values of PutJobVariables, nil if there are none.
func (v *Vault) JobVariables(ctx context.Context, q *sqlc.Queries, jobID uuid.UUID) (values []codersdk.VariableValue, err error) {
	row, err := q.JobVariables(ctx, jobID)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := v.OpenText(jobPlace(jobID), row.Value, row.KeyID)
	if err != nil {
		return nil, err
	}
	return values, json.Unmarshal([]byte(text), &values)
}

func jobPlace(jobID uuid.UUID) string { return "provisioner_job_variables value " + jobID.String() }

// SealAgentToken seals the token of an agent that the server must return later.
func (v *Vault) SealAgentToken(agentID, token uuid.UUID) (sealed, digest string) {
	return v.SealText(agentPlace(agentID), token.String())
}

// OpenAgentToken returns the token of an agent: plain if a server of the previous version stored it, else
// the kept one; nil if the server does not have it.
func (v *Vault) OpenAgentToken(agentID uuid.UUID, plain *uuid.UUID, kept, digest *string) (*uuid.UUID, error) {
	if plain != nil || kept == nil || digest == nil {
		return plain, nil
	}
	text, err := v.OpenText(agentPlace(agentID), *kept, *digest)
	if err != nil {
		return nil, err
	}
	token, err := uuid.Parse(text)
	return &token, err
}

func agentPlace(agentID uuid.UUID) string { return "workspace_agent_tokens token " + agentID.String() }

// HashAgentToken returns the hash by which the database finds an agent.
func HashAgentToken(token uuid.UUID) []byte {
	sum := sha256.Sum256([]byte(token.String()))
	return sum[:]
}
