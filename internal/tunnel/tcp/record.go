package tcp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// BufferSize is the maximum number of bytes of one read: several records.
const BufferSize = 64 << 10

// ErrFrame is returned for a record of an impossible length.
var ErrFrame = errors.New("a record of an impossible length")

// EachRecord calls take with each record until reading fails. On the wire a record follows
// its length in two bytes, which is at most maxSize. take must not keep the record. Before
// each wait, wakeAt receives the number of missing bytes.
func EachRecord(from io.Reader, maxSize int, wakeAt func(bytes int), take func(record []byte)) error {
	r := bufio.NewReaderSize(from, BufferSize)
	for {
		if r.Buffered() < 2 {
			wakeAt(1)
		}
		head, err := r.Peek(2)
		if err != nil {
			return err
		}
		n := int(binary.BigEndian.Uint16(head))
		if n == 0 || n > maxSize {
			return ErrFrame
		}
		if missing := 2 + n - r.Buffered(); missing > 0 {
			wakeAt(missing)
		}
		b, err := r.Peek(2 + n)
		if err != nil {
			return err
		}
		take(b[2:])
		_, _ = r.Discard(2 + n)
	}
}
