package tunnel

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/quic-go/quic-go"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/lane"
)

// The kinds of streams, and the actions a certificate grants.
const (
	KindSSH      = "ssh"       // the SSH server; no argument
	KindTCP      = "tcp"       // a connection to the argument, host:port
	KindUDP      = "udp"       // datagrams to the argument, host:port
	KindPTY      = "pty"       // a reconnecting terminal; the agent defines the argument
	KindAgentAPI = "agent-api" // the agent's HTTP API; no argument
	// KindRelay makes the agent connect to a workspace proxy that relays to the client. The
	// argument is the proxy's URL, a space, and a relay token.
	KindRelay = "relay"

	kindPing = "ping" // answered by the listener itself; every user may open it
)

// maxLine bounds the length of the first lines of a stream in bytes.
const maxLine = 1024

// Stream is a bidirectional stream of a tunnel. It is a net.Conn with
// half-close, safe for concurrent use as those are.
type Stream struct {
	*lane.Stream
	local, remote net.Addr
	explain       func(error) error // returns why the tunnel ended
}

// Close ends both directions. Data that was written still arrives.
func (s *Stream) Close() error {
	s.CancelRead()
	_ = s.CloseWrite() // fails only when the other side stopped reading
	return nil
}

// LocalAddr returns a name of this end, for net.Conn.
func (s *Stream) LocalAddr() net.Addr { return s.local }

// RemoteAddr returns a name of the other end, for net.Conn.
func (s *Stream) RemoteAddr() net.Addr { return s.remote }

// Read reads as io.Reader does. If the tunnel has ended, its error states why.
func (s *Stream) Read(p []byte) (int, error) {
	n, err := s.Stream.Read(p)
	return n, s.explainError(err)
}

// Write writes as io.Writer does.
func (s *Stream) Write(p []byte) (int, error) {
	n, err := s.Stream.Write(p)
	return n, s.explainError(err)
}

// ReadFrom implements io.ReaderFrom. It reads up to the size of a record at once.
func (s *Stream) ReadFrom(r io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{s}, struct{ io.Reader }{r}, make([]byte, lane.Piece))
}

func (s *Stream) explainError(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	if e, ok := errors.AsType[*quic.StreamError](err); ok {
		if e.Remote {
			return fmt.Errorf("the other side closed the stream: %w", io.ErrClosedPipe)
		}
		return net.ErrClosed
	}
	if errors.Is(err, quic.ErrStreamClosed) {
		return net.ErrClosed
	}
	return s.explain(err)
}

// formatHeader returns the line that opens a stream.
func formatHeader(kind, arg string) ([]byte, error) {
	line := kind
	if arg != "" {
		line += " " + arg
	}
	if kind == "" || strings.ContainsAny(kind, " \n") || strings.Contains(arg, "\n") || len(line) >= maxLine {
		return nil, fmt.Errorf("a tunnel stream cannot be asked for with %q", line[:min(len(line), 64)])
	}
	return append([]byte(line), '\n'), nil
}

// parseHeader returns the kind and the argument of a line.
func parseHeader(line string) (kind, arg string, err error) {
	kind, arg, _ = strings.Cut(line, " ")
	if kind == "" {
		return "", "", errors.New("an empty request")
	}
	return kind, arg, nil
}

// formatStatus returns the line that answers a header.
func formatStatus(err error) []byte {
	if err == nil {
		return []byte("ok\n")
	}
	text := strings.ToValidUTF8(err.Error(), "?")
	text = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
	text = strings.ToValidUTF8(text[:min(len(text), maxLine-8)], "")
	return []byte("error " + text + "\n")
}

// parseStatus returns the error of a status line.
func parseStatus(line string) error {
	if line == "ok" {
		return nil
	}
	if text, ok := strings.CutPrefix(line, "error "); ok {
		return errors.New(text)
	}
	return fmt.Errorf("the agent answered something else than a status: %q", line[:min(len(line), 64)])
}

// readLine reads up to a line feed and not a byte further.
func readLine(r io.Reader) (string, error) {
	var line [maxLine]byte
	n := 0
	for n < maxLine {
		m, err := r.Read(line[n : n+1])
		if m == 1 && line[n] == '\n' {
			return string(line[:n]), nil
		}
		n += m
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return "", err
		}
	}
	return "", fmt.Errorf("the first line of a stream has more than %d bytes", maxLine-1)
}

// abort ends both directions and drops unsent data.
func (s *Stream) abort() {
	s.CancelRead()
	s.CancelWrite()
}
