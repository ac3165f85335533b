package lane

import (
	"encoding/binary"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/path"
)

// Seal seals body as a record of l.
func Seal(l *Lane, body []byte) []byte {
	head := binary.BigEndian.AppendUint64([]byte{path.RecordMark}, l.sealed.Add(1))
	return l.out.Seal(head, nonce(head), body, head)
}

// Writing reports whether a Write of the stream is in progress.
func Writing(s *Stream) bool {
	if s.send.writeMu.TryLock() {
		s.send.writeMu.Unlock()
		return false
	}
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	return s.out.writing > 0 || s.l.records.Use() != path.UseNone
}
