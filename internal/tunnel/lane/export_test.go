package lane

import (
	"encoding/binary"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/path"
)

// Seal seals anything as a record of an end.
func Seal(l *Lane, body []byte) []byte {
	head := binary.BigEndian.AppendUint64([]byte{path.RecordMark}, l.sealed.Add(1))
	return l.out.Seal(head, nonce(head), body, head)
}
