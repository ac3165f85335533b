package agent

import (
	"path/filepath"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/startup"
)

// serveUnits begins to serve the units of the workspace's start on a socket
// when that is wanted, and gives the path: "" without a socket, which keeps
// nobody out. (AG-25)
func (l *life) serveUnits() string {
	if !l.c.SocketServer {
		return ""
	}
	path := l.c.SocketPath
	if path == "" {
		if l.data == "" {
			return "" // which was logged
		}
		path = filepath.Join(l.data, "agent-"+uuid.UUID(l.manifest.AgentId).String()[:8]+".sock")
	}
	var err error
	l.units, err = startup.Serve(l.ctx, path, uuid.UUID(l.manifest.AgentId), startup.NewUnits())
	if err != nil {
		l.log.Warn("the socket for units of the start is not served; CODER_AGENT_SOCKET_PATH puts it elsewhere", "path", path, "error", err)
		return ""
	}
	return path
}

func (l *life) closeUnits() {
	if l.units != nil {
		l.units.Close()
	}
}
