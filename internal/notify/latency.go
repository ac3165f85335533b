package notify

import (
	"context"
	"fmt"
	"time"
)

// latencyPrefix is the prefix of topics that measure latency. They have no
// subscribers.
const latencyPrefix = "latency/"

// Latency sends a hint to this server through the database. It returns how long
// the database took to accept the hint, and how long it then took to arrive. It
// fails if ctx ends first, for example while the LISTEN connection is lost.
func (h *Hub) Latency(ctx context.Context) (send, receive time.Duration, err error) {
	topic := latencyPrefix + randomID()
	back := make(chan struct{})
	h.mu.Lock()
	h.echoes[topic] = back
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.echoes, topic)
		h.mu.Unlock()
	}()
	begin := time.Now()
	if _, err := h.pool.Exec(ctx, tell, channel, h.self+" "+topic); err != nil {
		return 0, 0, fmt.Errorf("send a hint: %w", err)
	}
	sent := time.Now()
	select {
	case <-back:
		return sent.Sub(begin), time.Since(sent), nil
	case <-ctx.Done():
		return 0, 0, fmt.Errorf("receive a hint: %w", ctx.Err())
	}
}

// echo ends the measurement that waits for a hint of this server.
func (h *Hub) echo(topic string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if back, ok := h.echoes[topic]; ok {
		close(back)
		delete(h.echoes, topic)
	}
}
