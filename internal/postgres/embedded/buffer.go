package embedded

import "sync"

// syncBuffer is a buffer for concurrent use. When it exceeds its limit, it drops
// the oldest bytes.
type syncBuffer struct {
	mu sync.Mutex
	b  []byte
}

func (s *syncBuffer) write(p []byte, limit int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b = append(s.b, p...)
	if over := len(s.b) - limit; over > 0 {
		s.b = append(s.b[:0], s.b[over:]...)
	}
	return len(p), nil
}

func (s *syncBuffer) string() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.b)
}
