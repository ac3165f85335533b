package notificationapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// watch sends every new notification as one text message. Clients know no other
// message, so the connection is kept alive by pings of the protocol.
func (a *API) watch(w http.ResponseWriter, r *http.Request) error {
	f, err := filter(r)
	if err != nil {
		return err
	}
	news, err := a.Inbox.Watch(r.Context(), rest.Actor(r), f)
	if err != nil {
		return err
	}
	defer news.Close()
	conn, err := rest.AcceptWebSocket(w, r)
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // closed in order below if it can be
	ctx, cancel := context.WithCancel(conn.CloseRead(r.Context()))
	defer cancel()
	go ping(ctx, cancel, conn)
	err = news.Run(ctx, func(m codersdk.GetInboxNotificationResponse) error {
		b, err := json.Marshal(m)
		if err != nil {
			return err
		}
		write, end := context.WithTimeout(ctx, rest.PingInterval)
		defer end()
		return conn.Write(write, websocket.MessageText, b)
	})
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		conn.Close(websocket.StatusNormalClosure, "") //nolint:errcheck // the client may be gone
		return nil
	}
	conn.Close(websocket.StatusInternalError, "the server could not read the inbox; reconnect") //nolint:errcheck // the client may be gone
	return nil
}

// ping ends ctx when the client does not answer.
func ping(ctx context.Context, cancel context.CancelFunc, conn *websocket.Conn) {
	ticker := time.NewTicker(rest.PingInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		wait, end := context.WithTimeout(ctx, rest.PingInterval)
		err := conn.Ping(wait)
		end()
		if err != nil {
			cancel()
			return
		}
	}
}
