package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

// serveJobLogs answers with the log of a job that the caller may read: JSON or
// text, or with follow a WebSocket message per line, as they come, until the
// job is over. (PRV-22)
func (a *API) serveJobLogs(w http.ResponseWriter, r *http.Request, jobID uuid.UUID) error {
	after, before, err := logBounds(r)
	if err != nil {
		return err
	}
	_, follow := r.URL.Query()["follow"] // its mere presence asks for it, as "follow="
	if v := r.URL.Query().Get("follow"); v != "" {
		if follow, err = queryBool(r, "follow"); err != nil {
			return err
		}
	}
	text, err := logAsText(r, follow)
	if err != nil {
		return err
	}
	switch {
	case follow && before != 0:
		return coder.Invalid("before", "what is followed has no end; leave before or follow out")
	case follow:
		return a.followJobLogs(w, r, jobID, after)
	}
	logs, err := a.Queue.Logs(r.Context(), jobID, after, before)
	if err != nil {
		return err
	}
	if !text {
		return reply(w, http.StatusOK, logs)
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
	conn, err := accept(w, r)
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // closed in order below if it can be
	ctx := conn.CloseRead(r.Context())
	err = a.Queue.FollowLogs(ctx, jobID, after, func(logs []coder.ProvisionerJobLog) error {
		for _, l := range logs {
			b, err := json.Marshal(l)
			if err != nil {
				return err
			}
			write, cancel := context.WithTimeout(ctx, pingInterval)
			err = conn.Write(write, websocket.MessageText, b)
			cancel()
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		a.Log.WarnContext(ctx, "following a job's log broke off", "job", jobID, "error", err)
		conn.Close(websocket.StatusInternalError, "the log cannot be followed any further") //nolint:errcheck // the peer may be gone
		return nil
	}
	conn.Close(websocket.StatusNormalClosure, "") //nolint:errcheck // the peer may be gone
	return nil
}

// logBounds reads which lines of a log are wanted: those after one id and, unless
// it is 0, before another.
func logBounds(r *http.Request) (after, before int64, err error) {
	if after, err = queryLogID(r, "after"); err != nil {
		return 0, 0, err
	}
	before, err = queryLogID(r, "before")
	return after, before, err
}

// logAsText reads whether a log is wanted as text, which cannot be followed.
func logAsText(r *http.Request, follow bool) (bool, error) {
	switch format := r.URL.Query().Get("format"); {
	case format != "" && format != "json" && format != "text":
		return false, coder.Invalid("format", "%q is neither json nor text", clip(format, 32))
	case follow && format == "text":
		return false, coder.Invalid("format", "text cannot be followed; leave format or follow out")
	default:
		return format == "text", nil
	}
}
