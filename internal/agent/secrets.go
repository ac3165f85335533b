package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
	"storj.io/drpc/drpcerr"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/internal/agent/environ"
	"github.com/seed-2a7f8fe7/coder/internal/agent/secretfile"
)

// userSecrets are the secrets of the workspace's owner. Every new process gets them
// as variables.
type userSecrets struct {
	mu      sync.Mutex
	version []byte
	env     []string
	failing time.Time // of the first failed fetch since the last successful one; zero if that was the last
}

// secretsPatience bounds the delay of the start of a workspace whose secrets cannot be
// fetched, for example while the server has no database.
const secretsPatience = time.Minute

// environment returns the variables.
func (u *userSecrets) environment() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.env)
}

// environment returns the environment of a new script.
func (l *life) environment() []string {
	return environ.Unique(append(slices.Clone(l.env), l.secrets.environment()...))
}

// fetchSecrets fetches the secrets if they changed, and writes those that are files. After
// an error acceptHints tries again.
func (a *Agent) fetchSecrets(ctx context.Context, c agentrpc.DRPCAgentClient) error {
	u := &a.secrets
	u.mu.Lock()
	defer u.mu.Unlock()
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	got, err := c.UserSecrets(call, &agentrpc.UserSecretsRequest{Version: u.version})
	if drpcerr.Code(err) == drpcerr.Unimplemented {
		return nil // an earlier server
	}
	if err != nil {
		if u.failing.IsZero() {
			u.failing = time.Now()
		}
		return fmt.Errorf("fetch the user secrets: %w", err)
	}
	u.failing = time.Time{}
	if got.Unchanged {
		return nil
	}
	u.version, u.env = got.Version, nil
	var files []secretfile.File
	for _, s := range got.Secrets {
		if s.EnvName != "" {
			u.env = append(u.env, s.EnvName+"="+string(s.Value))
		}
		if s.FilePath != "" {
			files = append(files, secretfile.File{Path: s.FilePath, Value: s.Value})
		}
	}
	for _, err := range secretfile.Sync(environ.Home(a.c.Env), files) {
		a.log.Error("user secret file", "error", err)
	}
	return nil
}

// fetchFirstSecrets fetches the secrets before scripts start. It returns an error if the start
// should wait for them. After secretsPatience the workspace starts without them.
func (a *Agent) fetchFirstSecrets(ctx context.Context, c agentrpc.DRPCAgentClient) error {
	err := a.fetchSecrets(ctx, c)
	if err == nil {
		return nil
	}
	a.secrets.mu.Lock()
	failing := a.secrets.failing
	a.secrets.mu.Unlock()
	if time.Since(failing) < secretsPatience {
		return err
	}
	a.log.Error("the workspace starts without the user secrets", "error", err)
	return nil
}

// secretsRetry is the wait after a failed fetch.
const secretsRetry = 15 * time.Second

// acceptHints reads again what the server reports as changed, until the connection
// ends. The error is never nil.
func (a *Agent) acceptHints(ctx context.Context, session *yamux.Session, c agentrpc.DRPCAgentClient) error {
	a.checkCredentials() // hints may have been lost
	changed := make(chan struct{}, 1)
	go func() {
		retry := time.NewTicker(secretsRetry)
		defer retry.Stop()
		for {
			select {
			case <-changed:
			case <-retry.C:
				a.secrets.mu.Lock()
				failing := a.secrets.failing
				a.secrets.mu.Unlock()
				if failing.IsZero() {
					continue
				}
			case <-ctx.Done():
				return
			}
			if err := a.fetchSecrets(ctx, c); err != nil {
				a.log.Warn("the user secrets are not up to date; trying again later", "error", err)
			}
		}
	}()
	for {
		stream, err := session.AcceptStreamWithContext(ctx)
		if err != nil {
			return errors.Join(errors.New("the connection was closed"), ctx.Err())
		}
		var hint [1]byte
		_ = stream.SetReadDeadline(time.Now().Add(callTimeout))
		_, err = io.ReadFull(stream, hint[:])
		_ = stream.Close() // the server closes it too
		if err != nil {
			return fmt.Errorf("read a hint: %w", err)
		}
		switch agentrpc.Hint(hint[0]) {
		case agentrpc.Hint_HINT_USER_SECRETS:
			select {
			case changed <- struct{}{}:
			default: // a fetch is due already
			}
		case agentrpc.Hint_HINT_EXTERNAL_AUTH:
			a.checkCredentials()
		}
	}
}
