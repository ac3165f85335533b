package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// serveJobLogs replies with the log of a job that the caller may read, as JSON
// or text. With follow, it sends one WebSocket message per line until the job
// ends. (PRV-22)
func (a *API) serveJobLogs(w http.ResponseWriter, r *http.Request, jobID uuid.UUID) error {
	after, before, err := logBounds(r)
	if err != nil {
		return err
	}
	follow, err := rest.QueryFollow(r)
	if err != nil {
		return err
	}
	text, err := logAsText(r, follow)
	if err != nil {
		return err
	}
	switch {
	case follow && before != 0:
		return codersdk.Invalid("before", "cannot be combined with follow; remove one of the two")
	case follow:
		return a.followJobLogs(w, r, jobID, after)
	}
	logs, err := a.Queue.Logs(r.Context(), jobID, after, before)
	if err != nil {
		return err
	}
	if !text {
		return rest.Reply(w, http.StatusOK, logs)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	for _, l := range logs {
		_, err := fmt.Fprintf(w, "%s [%s] [%s|%s] %s\n", l.CreatedAt.UTC().Format("2006-01-02T15:04:05.000Z07:00"), l.LogLevel, l.LogSource, l.Stage, l.Output)
		if err != nil {
			return nil //nolint:nilerr // the client went away
		}
	}
	return nil
}

func (a *API) followJobLogs(w http.ResponseWriter, r *http.Request, jobID uuid.UUID, after int64) error {
	conn, err := rest.AcceptWebSocket(w, r)
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // closed in order below if it can be
	ctx := conn.CloseRead(r.Context())
	err = a.Queue.FollowLogs(ctx, jobID, after, func(logs []codersdk.ProvisionerJobLog) error {
		for _, l := range logs {
			b, err := json.Marshal(l)
			if err != nil {
				return err
			}
			write, cancel := context.WithTimeout(ctx, rest.PingInterval)
			err = conn.Write(write, websocket.MessageText, b)
			cancel()
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		a.Log.WarnContext(ctx, "following a job log failed", "job", jobID, "error", err)
		conn.Close(websocket.StatusInternalError, "the server failed to read the log; reconnect") //nolint:errcheck // the peer may be gone
		return nil
	}
	conn.Close(websocket.StatusNormalClosure, "") //nolint:errcheck // the peer may be gone
	return nil
}

// logBounds reads after and before, the ids between which log lines are
// requested; 0 means no bound.
func logBounds(r *http.Request) (after, before int64, err error) {
	if after, err = queryLogID(r, "after"); err != nil {
		return 0, 0, err
	}
	before, err = queryLogID(r, "before")
	return after, before, err
}

// logAsText reports whether the log is requested as text, which cannot be
// combined with follow.
func logAsText(r *http.Request, follow bool) (bool, error) {
	switch format := r.URL.Query().Get("format"); {
	case format != "" && format != "json" && format != "text":
		return false, codersdk.Invalid("format", "%q is not a format; use json or text", rest.Truncate(format, 32))
	case follow && format == "text":
		return false, codersdk.Invalid("format", "text cannot be combined with follow; remove one of the two")
	default:
		return format == "text", nil
	}
}
