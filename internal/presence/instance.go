package presence

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// AuthenticateInstance gives the token of the agent that a template expects on a
// machine, which has proved its number. The error is CodeNotFound for a machine of
// nobody, and CodeConflict for one of a workspace that was deleted or has had a
// newer build, and for one that several agents are expected on. (AG-02)
func (s *Service) AuthenticateInstance(ctx context.Context, instanceID string) (token string, err error) {
	rows, err := s.store.AgentsOnInstance(ctx, instanceID)
	if err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "", coder.Errorf(coder.CodeNotFound,
			"No agent is expected on the machine %q: the build that made it is not finished yet, or its template has no coder_agent_instance with this instance_id", instanceID)
	}
	var of []sqlc.AgentsOnInstanceRow
	for _, row := range rows {
		if row.Current && row.DeletedAt == nil {
			of = append(of, row)
		}
	}
	switch {
	case len(of) == 0 && rows[0].DeletedAt != nil:
		return "", coder.Errorf(coder.CodeConflict, "The workspace of this machine was deleted")
	case len(of) == 0:
		return "", superseded()
	case len(of) > 1:
		return "", coder.Errorf(coder.CodeConflict, "Several agents are expected on the machine %q, %s of %s and %s of %s among them: "+
			"only one can be told by its machine; use auth = \"token\" for the others", instanceID, of[0].Name, of[0].WorkspaceName, of[1].Name, of[1].WorkspaceName)
	}
	got, err := s.store.AgentEnsureToken(ctx, uuid.New(), of[0].ID)
	if err != nil {
		return "", err
	}
	s.log.InfoContext(ctx, "an agent proved its machine", "agent", of[0].Name, "agent_id", of[0].ID, "instance_id", instanceID)
	return got.String(), nil
}
