package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
)

// errClaimed says that somebody has claimed the workspace, which was built for
// nobody, and that it is built for them: the next hello tells what is new.
var errClaimed = errors.New("the workspace has a new owner")

// errAnswered says that the server has nothing to tell of a claim.
var errAnswered = errors.New("there is no claim to wait for")

// awaitClaim waits for that as long as the connection lasts. It gives nil when
// there is nothing to wait for.
func (a *Agent) awaitClaim(ctx context.Context) error {
	wait := client.Redial{Limit: 10 * a.c.Backoff}
	for {
		err := a.awaitClaimOnce(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errClaimed):
			return err
		case refused(err) || errors.Is(err, errAnswered):
			return nil
		}
		a.log.Debug("cannot hear of a claim; trying on", "error", err)
		select {
		case <-time.After(wait.Next()):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// awaitClaimOnce listens to the server until it tells of a claim. The error is
// never nil.
func (a *Agent) awaitClaimOnce(ctx context.Context) error {
	resp, err := a.server().Request(ctx, http.MethodGet, "/workspaceagents/me/reinit", nil, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	if resp.StatusCode != http.StatusOK {
		if resp.StatusCode == http.StatusConflict || resp.StatusCode == http.StatusNotFound {
			return errAnswered
		}
		return client.ReadError(resp)
	}
	lines := bufio.NewScanner(resp.Body) // lines of at most 64 KiB
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			continue
		}
		var e coder.ReinitializationEvent
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return fmt.Errorf("read what the server says of a claim: %w", err)
		}
		if e.Reason == coder.ReinitializationReasonPrebuildClaimed {
			return errClaimed
		}
	}
	return errors.Join(errors.New("the server ended the answer"), lines.Err())
}
