package scaletest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// echoCommand makes a terminal return each byte once: without the echo of the
// terminal itself, and without waiting for a whole line. Its first output is
// readyMark.
const echoCommand = `stty raw -echo; printf '\001'; exec cat`

const readyMark = 1

// terminalStream is a web terminal. Input is sent as JSON messages.
type terminalStream struct {
	net.Conn
	ctx  context.Context // of the connection
	conn *websocket.Conn
}

// Write sends typed keys.
func (s *terminalStream) Write(p []byte) (int, error) {
	b, err := json.Marshal(codersdk.ReconnectingPTYRequest{Data: string(p)})
	if err != nil {
		return 0, err
	}
	if err := s.conn.Write(s.ctx, websocket.MessageBinary, b); err != nil {
		return 0, err
	}
	return len(p), nil
}

// dialTerminal opens a web terminal that runs echoCommand, and waits until it
// does.
func dialTerminal(ctx context.Context, c *codersdk.Client, agent codersdk.WorkspaceAgent) (io.ReadWriteCloser, error) {
	dial, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := c.Dial(dial, "/workspaceagents/"+agent.ID.String()+"/pty", url.Values{
		"reconnect": {uuid.NewString()}, "width": {"80"}, "height": {"24"}, "command": {echoCommand},
	})
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(1 << 20)
	s := &terminalStream{Conn: websocket.NetConn(ctx, conn, websocket.MessageBinary), ctx: ctx, conn: conn}
	if err := s.SetReadDeadline(time.Now().Add(connectTimeout)); err != nil {
		_ = s.Close()
		return nil, err
	}
	for b := make([]byte, 1); b[0] != readyMark; {
		if _, err := io.ReadFull(s, b); err != nil {
			_ = s.Close()
			return nil, fmt.Errorf("the terminal ended before its command ran: %w", err)
		}
	}
	return s, s.SetReadDeadline(time.Time{})
}

// dialApp opens a WebSocket to an app of a workspace, at its path on the
// server.
func dialApp(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, agent codersdk.WorkspaceAgent, slug string) (io.ReadWriteCloser, error) {
	u := *c.URL
	u.Path = strings.TrimSuffix(u.Path, "/") + "/@" + w.OwnerName + "/" + w.Name + "." + agent.Name + "/apps/" + slug + "/"
	dial, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := c.DialURL(dial, &u)
	if err != nil {
		return nil, fmt.Errorf("app %s: %w", slug, err)
	}
	conn.SetReadLimit(1 << 20)
	return websocket.NetConn(ctx, conn, websocket.MessageBinary), nil
}
