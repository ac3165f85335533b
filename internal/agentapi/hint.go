package agentapi

import (
	"context"
	"sync"

	"github.com/hashicorp/yamux"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
)

// hints notifies one agent of changes, so that it reads again. Each hint is a
// stream with one byte.
type hints struct {
	session *yamux.Session
	once    sync.Once
}

// watch sends a hint whenever the subscription is signaled, until the connection
// ends. It subscribes before it returns, so that an agent that reads afterwards
// misses nothing. Only the first call has an effect.
func (h *hints) watch(hint agentrpc.Hint, subscribe func() (<-chan struct{}, func())) {
	h.once.Do(func() {
		changed, release := subscribe()
		go func() {
			defer release()
			for {
				select {
				case <-changed:
				case <-h.session.CloseChan():
					return
				}
				if h.send(hint) != nil {
					return // the connection has ended
				}
			}
		}()
	})
}

func (h *hints) send(hint agentrpc.Hint) error {
	stream, err := h.session.OpenStream()
	if err != nil {
		return err
	}
	if _, err := stream.Write([]byte{byte(hint)}); err != nil {
		return err
	}
	return stream.Close()
}

// UserSecrets returns the secrets of the workspace's owner.
func (s *server) UserSecrets(ctx context.Context, req *agentrpc.UserSecretsRequest) (*agentrpc.UserSecretsResponse, error) {
	if s.secrets == nil {
		return &agentrpc.UserSecretsResponse{}, nil
	}
	a := s.conn.Agent
	out, err := s.secrets.ForAgent(ctx, a.OwnerID, a.TemplateID, req.Version)
	if err != nil {
		return nil, agentrpc.WithCode(err)
	}
	return out, nil
}
