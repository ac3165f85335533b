package agentapi

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
)

// maxUsers bounds the users with tunnels that one agent may report.
const maxUsers = 1000

// visitors are the users with tunnels to one agent, as the agent reports them.
// When a user loses access, the relay closes relayed tunnels at once; only the
// agent can close direct ones, when it is notified.
type visitors struct {
	api   *API
	agent presence.Agent

	mu   sync.Mutex
	held map[uuid.UUID]visitor
}

type visitor struct {
	may context.Context // ends when the user loses access
	end func()
}

// see records the users that are connected, and returns those who lost access.
func (v *visitors) see(ids [][]byte) (gone [][]byte) {
	if v.api.c.Identity == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	now := map[uuid.UUID]visitor{}
	for _, b := range ids[:min(len(ids), maxUsers)] {
		id, err := uuid.FromBytes(b)
		if err != nil || id == uuid.Nil {
			continue
		}
		one, known := v.held[id]
		if !known {
			one = v.hold(id)
		}
		if one.may.Err() != nil { // check again: the user may have regained access
			gone = append(gone, b)
			continue
		}
		now[id] = one
	}
	for id, one := range v.held {
		if _, there := now[id]; !there {
			one.end()
		}
	}
	v.held = now
	return gone
}

func (v *visitors) hold(id uuid.UUID) visitor {
	may, end := v.api.c.Identity.Hold(context.Background(), access.Subject{UserID: id}, func(ctx context.Context, now access.Subject) error {
		_, err := v.api.c.Presence.AgentForUser(ctx, now, v.agent.ID, codersdk.RBACActionSSH)
		return err
	}, notify.Sharing(v.agent.WorkspaceID))
	return visitor{may, end}
}

// end forgets all users.
func (v *visitors) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, one := range v.held {
		one.end()
	}
	v.held = nil
}
