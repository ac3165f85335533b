package relay

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"sync"
)

// A WebSocket connection writes a message through a buffer of 4 KiB, a system call
// for each, and wakes the other side as often. What is here gathers each frame and
// writes it at once.

const (
	// maxFrameHeader is the longest head of a frame: 2 bytes, a length, a mask.
	maxFrameHeader = 2 + 8 + 4
	// maxGathered is the longest frame that is gathered; of longer ones each piece
	// is written as it comes.
	maxGathered = MaxMessage + maxFrameHeader
)

type gathered struct{ b []byte }

var gatheredFrames = sync.Pool{New: func() any { return &gathered{make([]byte, 0, maxGathered)} }}

// frameWriter gathers the frames that are written to it, by one goroutine at a time.
type frameWriter struct {
	to   io.Writer
	head []byte    // of a frame whose length is not known yet
	got  *gathered // of a frame that is not whole; nil: none
	left int64     // bytes that are missing of the frame
}

// Write takes any pieces of frames. It keeps nothing of p.
func (w *frameWriter) Write(p []byte) (int, error) {
	all := len(p)
	for len(p) > 0 {
		if w.left == 0 {
			n := min(len(p), maxFrameHeader-len(w.head))
			length, ok := frameLength(append(w.head, p[:n]...))
			if !ok {
				w.head, p = append(w.head, p[:n]...), p[n:]
				continue
			}
			w.left = length - int64(len(w.head))
			if length <= maxGathered {
				w.got = gatheredFrames.Get().(*gathered)
				w.got.b = append(w.got.b[:0], w.head...)
			} else if len(w.head) > 0 {
				if _, err := w.to.Write(w.head); err != nil {
					return 0, err
				}
			}
			w.head = w.head[:0]
		}
		n := int(min(w.left, int64(len(p))))
		if err := w.piece(p[:n]); err != nil {
			return 0, err
		}
		p = p[n:]
	}
	return all, nil
}

// piece takes some of a frame, and writes the frame when it is whole.
func (w *frameWriter) piece(p []byte) error {
	w.left -= int64(len(p))
	if w.got == nil || len(w.got.b) == 0 && w.left == 0 {
		w.release()
		_, err := w.to.Write(p)
		return err
	}
	if t, ok := w.to.(*net.TCPConn); ok && w.left == 0 {
		both := net.Buffers{w.got.b, p}
		_, err := both.WriteTo(t)
		w.release()
		return err
	}
	w.got.b = append(w.got.b, p...)
	if w.left > 0 {
		return nil
	}
	_, err := w.to.Write(w.got.b)
	w.release()
	return err
}

func (w *frameWriter) release() {
	if w.got != nil {
		gatheredFrames.Put(w.got)
		w.got = nil
	}
}

// frameLength returns the length of a frame with its header, once b has the length.
func frameLength(b []byte) (n int64, ok bool) {
	if len(b) < 2 {
		return 0, false
	}
	head, length := 2, int64(b[1]&0x7f)
	switch length {
	case 126:
		if head += 2; len(b) < head {
			return 0, false
		}
		length = int64(binary.BigEndian.Uint16(b[2:]))
	case 127:
		if head += 8; len(b) < head {
			return 0, false
		}
		length = int64(binary.BigEndian.Uint64(b[2:]) & (1<<62 - 1))
	}
	if b[1]&0x80 != 0 {
		head += 4
	}
	return int64(head) + length, true
}

// HTTPClient is like c (nil: http.DefaultClient) for dialing WebSockets, which then
// write each frame at once.
func HTTPClient(c *http.Client) *http.Client {
	if c == nil {
		c = http.DefaultClient
	}
	with := *c
	with.Transport = frameTransport{c.Transport}
	return &with
}

type frameTransport struct{ http.RoundTripper }

// RoundTrip is part of http.RoundTripper.
func (t frameTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	through := t.RoundTripper
	if through == nil {
		through = http.DefaultTransport
	}
	resp, err := through.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
		if rwc, ok := resp.Body.(io.ReadWriteCloser); ok {
			resp.Body = &frameBody{rwc, frameWriter{to: rwc}}
		}
	}
	return resp, err
}

// frameBody is the connection of a client's WebSocket.
type frameBody struct {
	io.ReadWriteCloser
	frames frameWriter
}

func (b *frameBody) Write(p []byte) (int, error) { return b.frames.Write(p) }

// ResponseWriter is like w for accepting a WebSocket, which then writes each frame
// at once.
func ResponseWriter(w http.ResponseWriter) http.ResponseWriter { return frameHijacker{w} }

type frameHijacker struct{ http.ResponseWriter }

// Hijack is part of http.Hijacker.
func (h frameHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, b, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return conn, b, err
	}
	f := &frameConn{conn, frameWriter{to: conn}}
	if err := b.Flush(); err != nil { // the answer to the handshake, which is no frame
		conn.Close()
		return nil, nil, err
	}
	return f, bufio.NewReadWriter(b.Reader, bufio.NewWriterSize(f, 512)), nil // which passes on what is longer
}

// frameConn is the connection of a server's WebSocket.
type frameConn struct {
	net.Conn
	frames frameWriter
}

func (c *frameConn) Write(p []byte) (int, error) { return c.frames.Write(p) }
