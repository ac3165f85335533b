// Package ptybridge connects a browser's WebSocket, the viewer, to a terminal,
// which is a stream of an agent. The viewer sends
// codersdk.ReconnectingPTYRequest messages and receives the terminal's output
// as binary messages. A viewer with an ID of its own also receives
// codersdk.ReconnectingPTYStatus as text messages.
package ptybridge

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// maxCommand bounds the command of a terminal, which is sent in one line, in
// bytes.
const maxCommand = 512

// maxTyped bounds one message of a viewer, such as pasted text, in bytes.
const maxTyped = 1 << 20

// Join copies between a viewer and the terminal of its query until one of them
// ends or ctx does. It closes both.
func Join(ctx context.Context, conn *websocket.Conn, stream net.Conn, q url.Values) {
	defer stream.Close()
	defer conn.CloseNow() //nolint:errcheck // closed in order below if it can be
	conn.SetReadLimit(maxTyped)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { stream.Close() })
	defer stop()
	go func() {
		defer cancel()
		typed(ctx, conn, stream)
	}()
	if q.Get("viewer") == "" {
		display(ctx, stream, conn)
	} else {
		displayFrames(ctx, stream, conn)
	}
	conn.Close(websocket.StatusNormalClosure, "") //nolint:errcheck // the viewer may be gone
}

// Argument returns the stream argument for the terminal that a query requests.
// The same reconnect ID always leads to the same terminal.
func Argument(q url.Values) (string, error) {
	id, err := uuid.Parse(q.Get("reconnect"))
	if err != nil {
		return "", codersdk.Invalid("reconnect", "must be a UUID of your choice; the same UUID reconnects to the same terminal")
	}
	size := [2]int{80, 24}
	for i, name := range []string{"width", "height"} {
		if q.Get(name) == "" {
			continue
		}
		if size[i], err = strconv.Atoi(q.Get(name)); err != nil {
			return "", codersdk.Invalid(name, "%.32q is not a number", q.Get(name))
		}
	}
	if !codersdk.TerminalSizeOK(size[0], size[1]) {
		return "", codersdk.Invalid("width", "must be from 1 to 2000 columns and rows")
	}
	if q.Get("container") != "" || q.Get("container_user") != "" {
		return "", codersdk.Invalid("container", "terminals in containers are not supported; remove the parameter")
	}
	if len(q.Get("command")) > maxCommand {
		return "", codersdk.Invalid("command", "must be at most %d bytes", maxCommand)
	}
	arg := fmt.Sprintf("%s %dx%d", id, size[0], size[1])
	if c := q.Get("command"); c != "" {
		arg += " " + base64.RawURLEncoding.EncodeToString([]byte(c))
	}
	rest, err := viewerArgument(q)
	if err == nil && rest != "" && q.Get("command") == "" {
		arg += " -"
	}
	return arg + rest, err
}

// viewerArgument returns the part of the argument for a viewer that numbers its
// messages and counts the output.
func viewerArgument(q url.Values) (string, error) {
	if q.Get("viewer") == "" {
		return "", nil
	}
	viewer, err := uuid.Parse(q.Get("viewer"))
	if err != nil || viewer == uuid.Nil {
		return "", codersdk.Invalid("viewer", "must be a UUID that you choose for this viewer; remove it otherwise")
	}
	if q.Get("session") == "" {
		return " " + viewer.String(), nil
	}
	session, err := uuid.Parse(q.Get("session"))
	if err != nil {
		return "", codersdk.Invalid("session", "must be the session of a status message")
	}
	offset, err := strconv.ParseInt(q.Get("offset"), 10, 64)
	if err != nil || offset < 0 {
		return "", codersdk.Invalid("offset", "must be the number of bytes that you received in the session")
	}
	return fmt.Sprintf(" %s %s:%d", viewer, session, offset), nil
}

// typed forwards the viewer's messages to the terminal, one per line.
func typed(ctx context.Context, conn *websocket.Conn, stream net.Conn) {
	for {
		_, b, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var m codersdk.ReconnectingPTYRequest
		if json.Unmarshal(b, &m) != nil {
			conn.Close(websocket.StatusUnsupportedData, "messages must be JSON: {data, height, width}") //nolint:errcheck // it ends either way
			return
		}
		line, err := json.Marshal(m)
		if err != nil {
			return
		}
		if _, err := stream.Write(append(line, '\n')); err != nil {
			return
		}
	}
}

// viewerStall bounds the time for which a viewer may read nothing.
const viewerStall = 30 * time.Second

// sendToViewer sends a message to a viewer with a deadline.
func sendToViewer(ctx context.Context, conn *websocket.Conn, kind websocket.MessageType, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, viewerStall)
	defer cancel()
	return conn.Write(ctx, kind, b)
}

// display forwards the terminal's output to the viewer.
func display(ctx context.Context, stream net.Conn, conn *websocket.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := stream.Read(buf)
		if n > 0 {
			if sendToViewer(ctx, conn, websocket.MessageBinary, buf[:n]) != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// maxFrame bounds a frame of an agent, which may be a screen with its history,
// in bytes.
const maxFrame = 8 << 20

// displayFrames forwards the frames of an agent: output as binary, status as
// text messages.
func displayFrames(ctx context.Context, stream net.Conn, conn *websocket.Conn) {
	in := bufio.NewReaderSize(stream, 64<<10)
	var head [5]byte
	var buf []byte
	for {
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return
		}
		n := binary.BigEndian.Uint32(head[1:])
		if n > maxFrame {
			return
		}
		if cap(buf) < int(n) {
			buf = make([]byte, n)
		}
		if _, err := io.ReadFull(in, buf[:n]); err != nil {
			return
		}
		kind := websocket.MessageBinary
		if head[0] == 's' {
			kind = websocket.MessageText
		}
		if sendToViewer(ctx, conn, kind, buf[:n]) != nil {
			return
		}
	}
}
