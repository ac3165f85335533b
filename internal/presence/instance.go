package presence

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// AuthenticateInstance returns the token of the agent that a template assigns to a cloud instance,
// which has proved its ID. Of several agents it is the one with the name. The error is CodeNotFound
// for an unknown instance or name. It is CodeConflict if the workspace was deleted or has a newer
// build, or if several agents are assigned to the instance and the name does not select one. (AG-02)
func (s *Service) AuthenticateInstance(ctx context.Context, instanceID, name string) (token string, err error) {
	rows, err := s.store.AgentsOnInstance(ctx, instanceID)
	if err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "", codersdk.Errorf(codersdk.CodeNotFound,
			"No agent is assigned to the instance %q: its build has not finished yet, or its template has no coder_agent_instance with this instance_id", instanceID)
	}
	var of []sqlc.AgentsOnInstanceRow
	named := false
	for _, row := range rows {
		matches := name == "" || row.Name == name
		named = named || matches
		if matches && row.Current && row.DeletedAt == nil {
			of = append(of, row)
		}
	}
	switch {
	case !named:
		return "", codersdk.Errorf(codersdk.CodeNotFound, "No agent of the instance %q has the name %.64q; its agents include %s of %s",
			instanceID, name, rows[0].Name, rows[0].WorkspaceName)
	case len(of) == 0 && rows[0].DeletedAt != nil:
		return "", codersdk.Errorf(codersdk.CodeConflict, "The workspace of this instance was deleted")
	case len(of) == 0:
		return "", superseded()
	case len(of) > 1:
		return "", codersdk.Errorf(codersdk.CodeConflict, "Several agents are assigned to the instance %q, including %s of %s and %s of %s: "+
			"set CODER_AGENT_NAME to the name of one of them, or use auth = \"token\"", instanceID, of[0].Name, of[0].WorkspaceName, of[1].Name,
			of[1].WorkspaceName)
	}
	got, err := s.ensureToken(ctx, of[0].ID)
	if err != nil {
		return "", err
	}
	s.log.InfoContext(ctx, "authenticated an agent by its instance identity", "agent", of[0].Name, "agent_id", of[0].ID, "instance_id", instanceID)
	return got.String(), nil
}

// ensureToken returns the token of an agent, and creates one if it has none.
func (s *Service) ensureToken(ctx context.Context, agentID uuid.UUID) (token uuid.UUID, err error) {
	err = s.store.Tx(ctx, func(q *sqlc.Queries) error {
		row, err := q.AgentTokenForUpdate(ctx, agentID)
		if err != nil {
			return err
		}
		known, err := s.vault.OpenAgentToken(agentID, row.Token, row.Kept, row.KeyID)
		if err != nil {
			return err
		}
		if known != nil {
			token = *known
			return nil
		}
		token = uuid.New()
		if err := q.AgentSetToken(ctx, token, s.vault.Ready(), agentID); err != nil || !s.vault.Ready() {
			return err
		}
		sealed, digest := s.vault.SealAgentToken(agentID, token)
		return q.AgentKeepToken(ctx, agentID, sealed, digest)
	})
	return token, err
}
