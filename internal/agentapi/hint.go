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

// source is what a hint is about. subscribe returns a channel that is signaled
// when it may have changed, and its release.
type source struct {
	hint      agentrpc.Hint
	subscribe func() (<-chan struct{}, func())
}

// watch sends a hint whenever the subscription of a source is signaled, until the
// connection ends. It subscribes before it returns, so that an agent that reads
// afterwards misses nothing. Only the first call has an effect.
func (h *hints) watch(sources ...source) {
	h.once.Do(func() {
		for _, s := range sources {
			changed, release := s.subscribe()
			go h.forward(s.hint, changed, release)
		}
	})
}

func (h *hints) forward(hint agentrpc.Hint, changed <-chan struct{}, release func()) {
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
