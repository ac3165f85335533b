package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// errClaimed is returned when a user claimed this prebuilt workspace. The next
// hello fetches the new manifest.
var errClaimed = errors.New("the workspace has a new owner")

// errAnswered is returned when the workspace cannot be claimed.
var errAnswered = errors.New("there is no claim to wait for")

// awaitClaim waits for a claim as long as the connection lasts. It returns nil
// when the workspace cannot be claimed.
func (a *Agent) awaitClaim(ctx context.Context) error {
	wait := lifecycle.Backoff{Limit: 10 * a.c.Backoff}
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
		a.log.Debug("cannot wait for a claim; retrying", "error", err)
		if !wait.Sleep(ctx) {
			return ctx.Err()
		}
	}
}

// awaitClaimOnce streams events of the server until a claim arrives. The error
// is never nil.
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
		return codersdk.ReadError(resp)
	}
	lines := bufio.NewScanner(resp.Body) // lines of at most 64 KiB
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			continue
		}
		var e codersdk.ReinitializationEvent
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return fmt.Errorf("read the claim events: %w", err)
		}
		if e.Reason == codersdk.ReinitializationReasonPrebuildClaimed {
			return errClaimed
		}
	}
	return errors.Join(errors.New("the server closed the event stream"), lines.Err())
}

// sameDeclaration reports whether two manifests of one agent start the same things.
// Names of the workspace and of its owner, addresses and keys may differ.
func sameDeclaration(a, b *agentrpc.Manifest) bool {
	declared := func(m *agentrpc.Manifest) *agentrpc.Manifest {
		return &agentrpc.Manifest{
			Environment: m.Environment, Directory: m.Directory, MotdFile: m.MotdFile, Scripts: m.Scripts, Metadata: m.Metadata,
			Apps: m.Apps, Monitors: m.Monitors, Devcontainers: m.Devcontainers,
		}
	}
	return proto.Equal(declared(a), declared(b))
}
