package workspace

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// maxPending limits the agents of a running build that can send log lines.
const maxPending = 100

// notePending stores the agents in the state of a running build, so that log sources
// beside them can send log lines before the build has finished.
func (s builds) notePending(ctx context.Context, q *sqlc.Queries, build uuid.UUID, state []byte) error {
	tokens := agentTokens(state)
	if len(tokens) == 0 {
		return nil
	}
	return q.PendingAgentsPut(ctx, sqlc.PendingAgentsPutParams{BuildID: build, Now: s.now(), Tokens: tokens, Hashed: s.Vault.Ready()})
}

// agentTokens returns at most maxPending tokens of coder_agent resources in a Terraform
// state; none if it is not a Terraform state.
func agentTokens(state []byte) []uuid.UUID {
	var parsed struct {
		Resources []struct {
			Mode      string `json:"mode"`
			Type      string `json:"type"`
			Instances []struct {
				Attributes struct {
					Token string `json:"token"`
				} `json:"attributes"`
			} `json:"instances"`
		} `json:"resources"`
	}
	_ = json.Unmarshal(state, &parsed) // states of other engines may not be JSON
	tokens := []uuid.UUID{}
	for _, r := range parsed.Resources {
		if r.Mode != "managed" || r.Type != "coder_agent" {
			continue
		}
		for _, i := range r.Instances {
			if token, err := uuid.Parse(i.Attributes.Token); err == nil && len(tokens) < maxPending {
				tokens = append(tokens, token)
			}
		}
	}
	return tokens
}

// adoptPending moves log lines that arrived during a build to the agents that it
// created.
func adoptPending(ctx context.Context, q *sqlc.Queries, build uuid.UUID) error {
	pending, err := q.PendingAgentsLock(ctx, build)
	if err != nil || len(pending) == 0 {
		return err
	}
	for _, step := range []func(context.Context, uuid.UUID) error{
		q.PendingAgentsAdoptLogSources, q.PendingAgentsAdoptLogs, q.PendingAgentsAdoptLengths, q.PendingAgentsDelete,
	} {
		if err := step(ctx, build); err != nil {
			return err
		}
	}
	return nil
}
