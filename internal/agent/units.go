package agent

import (
	"context"
	"net/http"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/gitauth"
	"github.com/seed-2a7f8fe7/coder/internal/startup"
)

// serveUnits serves the units of the workspace's start on a socket, unless that
// is disabled, and returns the socket's path. It returns "" when no socket can
// be created, which is logged; the agent serves everything else. (AG-25)
func (l *life) serveUnits() string {
	if !l.c.SocketServer {
		return ""
	}
	l.removeStaleSockets()
	var failed error
	for _, path := range l.socketPaths() {
		units, err := startup.Serve(l.ctx, path, uuid.UUID(l.manifest.AgentId), startup.NewUnits(), map[string]http.Handler{
			gitauth.CredentialsPath: l.credentials(),
		})
		if err == nil {
			l.units = units
			return path
		}
		failed = err
		l.log.Debug("cannot create a socket for coder exp sync at this path", "path", path, "error", err)
	}
	l.log.Warn("coder exp sync is unavailable in this workspace: no socket could be created; set "+
		"CODER_AGENT_SOCKET_PATH to a path that the agent can write", "error", failed)
	return ""
}

// removeStaleSockets removes the sockets that killed agents left where this agent
// may create its own.
func (l *life) removeStaleSockets() {
	const name = "agent-????????.sock"
	removed := startup.RemoveStale(os.TempDir(), "coder-"+name)
	if l.data != "" {
		removed = append(removed, startup.RemoveStale(l.data, name)...)
	}
	for _, path := range removed {
		l.log.Debug("removed the socket of an agent that was killed", "path", path)
	}
}

// socketPaths returns candidate paths of the socket, best first. The configured
// path may belong to an outer agent in whose workspace this agent runs. The
// script directory may be too deep for a socket path.
func (l *life) socketPaths() []string {
	name := "agent-" + uuid.UUID(l.manifest.AgentId).String()[:8] + ".sock"
	paths := []string{}
	if l.c.SocketPath != "" {
		paths = append(paths, l.c.SocketPath)
	}
	if l.data != "" {
		paths = append(paths, filepath.Join(l.data, name))
	}
	return append(paths, filepath.Join(os.TempDir(), "coder-"+name))
}

// credentials returns the cache of the owner's credentials for git. (AG-19)
func (l *life) credentials() *gitauth.Cache {
	c := &gitauth.Cache{Fetch: func(ctx context.Context, r codersdk.AgentExternalAuthRequest) (codersdk.ExternalAuthResponse, error) {
		return l.server().AgentExternalAuth(ctx, r)
	}}
	l.git.Store(c)
	return c
}

// checkCredentials makes the cache of credentials for git ask the server again.
func (a *Agent) checkCredentials() {
	if c := a.git.Load(); c != nil {
		c.Check()
	}
}

func (l *life) closeUnits() {
	if l.units != nil {
		l.units.Close()
	}
}
