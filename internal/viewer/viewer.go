// Package viewer joins the viewer of a terminal, which is a WebSocket of a
// browser, with the terminal, which is a stream of an agent. Messages of the
// viewer are coder.ReconnectingPTYRequest; what the terminal shows comes as
// binary messages. A viewer that gives an id of its own gets
// coder.ReconnectingPTYStatus too, as text messages.
package viewer

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

	"github.com/seed-2a7f8fe7/coder"
)

// maxCommand bounds the command of a terminal, which travels in one line.
const maxCommand = 512

// maxTyped bounds one message of a viewer: what somebody pastes.
const maxTyped = 1 << 20

// Join passes on what the viewer and the terminal of a query say, until one of
// them ends or ctx does. It closes both.
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

// Argument makes the line that asks an agent for the terminal of a query: the
// same reconnect id leads to the same terminal.
func Argument(q url.Values) (string, error) {
	id, err := uuid.Parse(q.Get("reconnect"))
	if err != nil {
		return "", coder.Invalid("reconnect", "give a UUID of your choice; the same one leads back to the same terminal")
	}
	size := [2]int{80, 24}
	for i, name := range []string{"width", "height"} {
		if q.Get(name) == "" {
			continue
		}
		if size[i], err = strconv.Atoi(q.Get(name)); err != nil {
			return "", coder.Invalid(name, "%.32q is no number", q.Get(name))
		}
	}
	if !coder.TerminalSizeOK(size[0], size[1]) {
		return "", coder.Invalid("width", "a terminal has 1 to 2000 columns and rows")
	}
	if q.Get("container") != "" || q.Get("container_user") != "" {
		return "", coder.Invalid("container", "terminals of containers are not served; leave it out")
	}
	if len(q.Get("command")) > maxCommand {
		return "", coder.Invalid("command", "it is longer than %d bytes", maxCommand)
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

// viewerArgument is the part for a viewer that numbers what it sends and counts
// what it gets.
func viewerArgument(q url.Values) (string, error) {
	if q.Get("viewer") == "" {
		return "", nil
	}
	viewer, err := uuid.Parse(q.Get("viewer"))
	if err != nil || viewer == uuid.Nil {
		return "", coder.Invalid("viewer", "give a UUID of your choice for this viewer, or leave it out")
	}
	if q.Get("session") == "" {
		return " " + viewer.String(), nil
	}
	session, err := uuid.Parse(q.Get("session"))
	if err != nil {
		return "", coder.Invalid("session", "it is the session of a status message")
	}
	offset, err := strconv.ParseInt(q.Get("offset"), 10, 64)
	if err != nil || offset < 0 {
		return "", coder.Invalid("offset", "it is how many bytes the session had shown you")
	}
	return fmt.Sprintf(" %s %s:%d", viewer, session, offset), nil
}

// typed passes what the viewer sends on to the terminal, one message a line.
func typed(ctx context.Context, conn *websocket.Conn, stream net.Conn) {
	for {
		_, b, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var m coder.ReconnectingPTYRequest
		if json.Unmarshal(b, &m) != nil {
			conn.Close(websocket.StatusUnsupportedData, "messages are JSON: {data, height, width}") //nolint:errcheck // it ends either way
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

// viewerStall is how long a viewer may take nothing of what is shown.
const viewerStall = 30 * time.Second

// give sends a message to a viewer, which may be slow, but not for ever.
func give(ctx context.Context, conn *websocket.Conn, kind websocket.MessageType, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, viewerStall)
	defer cancel()
	return conn.Write(ctx, kind, b)
}

// display passes what the terminal shows on to the viewer.
func display(ctx context.Context, stream net.Conn, conn *websocket.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := stream.Read(buf)
		if n > 0 {
			if give(ctx, conn, websocket.MessageBinary, buf[:n]) != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// maxFrame bounds a frame of an agent: a screen with its history.
const maxFrame = 8 << 20

// displayFrames passes the frames of an agent on: output as binary, status as
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
		if give(ctx, conn, kind, buf[:n]) != nil {
			return
		}
	}
}
