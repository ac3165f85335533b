package relay

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"sync"
)

// A WebSocket connection writes a message through a buffer of 4 KiB: each 4 KiB cost a
// system call and wake the other side. A frameWriter collects each frame and writes it at
// once.

const (
	// maxFrameHeader is the maximum size of a frame header: 2 bytes, a length, a mask.
	maxFrameHeader = 2 + 8 + 4
	// maxCollected is the maximum size of a frame that is collected. Parts of a longer frame
	// are written as they arrive.
	maxCollected = MaxMessage + maxFrameHeader
)

// frameBuffer collects one frame.
type frameBuffer struct{ b []byte }

var frameBuffers = sync.Pool{New: func() any { return &frameBuffer{make([]byte, 0, maxCollected)} }}

// frameWriter collects the frames that are written to it. Only one goroutine may write at a
// time.
type frameWriter struct {
	to      io.Writer
	head    []byte       // header of a frame whose length is not known yet
	frame   *frameBuffer // incomplete frame; nil: none, or a long one
	missing int64        // missing bytes of the frame
}

// Write accepts any parts of frames. It does not keep p.
func (w *frameWriter) Write(p []byte) (int, error) {
	all := len(p)
	for len(p) > 0 {
		if w.missing == 0 {
			n := min(len(p), maxFrameHeader-len(w.head))
			length, ok := frameLength(append(w.head, p[:n]...))
			if !ok {
				w.head, p = append(w.head, p[:n]...), p[n:]
				continue
			}
			w.missing = length - int64(len(w.head))
			if length <= maxCollected {
				w.frame = frameBuffers.Get().(*frameBuffer)
				w.frame.b = append(w.frame.b[:0], w.head...)
			} else if len(w.head) > 0 {
				if _, err := w.to.Write(w.head); err != nil {
					return 0, err
				}
			}
			w.head = w.head[:0]
		}
		n := int(min(w.missing, int64(len(p))))
		if err := w.writePart(p[:n]); err != nil {
			return 0, err
		}
		p = p[n:]
	}
	return all, nil
}

// writePart adds a part of a frame, and writes the frame when it is complete.
func (w *frameWriter) writePart(p []byte) error {
	w.missing -= int64(len(p))
	if w.frame == nil || len(w.frame.b) == 0 && w.missing == 0 {
		w.releaseFrame()
		_, err := w.to.Write(p)
		return err
	}
	if t, ok := w.to.(*net.TCPConn); ok && w.missing == 0 {
		both := net.Buffers{w.frame.b, p}
		_, err := both.WriteTo(t)
		w.releaseFrame()
		return err
	}
	w.frame.b = append(w.frame.b, p...)
	if w.missing > 0 {
		return nil
	}
	_, err := w.to.Write(w.frame.b)
	w.releaseFrame()
	return err
}

func (w *frameWriter) releaseFrame() {
	if w.frame != nil {
		frameBuffers.Put(w.frame)
		w.frame = nil
	}
}

// frameLength returns the length of a frame including its header. ok is false while b lacks a
// part of the length.
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

// HTTPClient returns a copy of c (nil: http.DefaultClient) for dialing WebSockets, which then
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

// ResponseWriter wraps w for accepting a WebSocket, which then writes each frame at once.
func ResponseWriter(w http.ResponseWriter) http.ResponseWriter { return frameHijacker{w} }

type frameHijacker struct{ http.ResponseWriter }

// Hijack is part of http.Hijacker.
func (h frameHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, b, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return conn, b, err
	}
	f := &frameConn{conn, frameWriter{to: conn}}
	if err := b.Flush(); err != nil { // the response to the handshake, which is not a frame
		conn.Close()
		return nil, nil, err
	}
	return f, bufio.NewReadWriter(b.Reader, bufio.NewWriterSize(f, 512)), nil // longer writes bypass this buffer
}

// frameConn is the connection of a server's WebSocket.
type frameConn struct {
	net.Conn
	frames frameWriter
}

func (c *frameConn) Write(p []byte) (int, error) { return c.frames.Write(p) }
