// Package pending keeps the agents of builds that run, so that log sources beside the agents can send log lines
// before the build has finished.
package pending

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// maxPending limits the agents of a running build that can send log lines.
const maxPending = 100

// Note stores the agents in the state of a running build. hashed stores hashes of their tokens.
func Note(ctx context.Context, q *sqlc.Queries, build uuid.UUID, state []byte, now time.Time, hashed bool) error {
	tokens := agentTokens(state)
	if len(tokens) == 0 {
		return nil
	}
	return q.PendingAgentsPut(ctx, sqlc.PendingAgentsPutParams{BuildID: build, Now: now, Tokens: tokens, Hashed: hashed})
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

// Adopt moves log lines that arrived during a build to the agents that it
// created.
func Adopt(ctx context.Context, q *sqlc.Queries, build uuid.UUID) error {
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
