package agentapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"storj.io/drpc"
	"storj.io/drpc/drpcerr"
	"storj.io/drpc/drpcmux"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/api/agentv2"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
)

// newestMinor is the newest served minor version of version 2 of the agent RPC.
const newestMinor = 8

// agentRole is the role of an agent's own connection. A connection without a
// role has it too.
const agentRole = "agent"

// logsOnly reports whether a request for a control connection may send log
// lines and nothing else. That is every connection of version 2, which
// programs beside the agent ask for, and every role other than agent. The
// error is CodeInvalid for a version that is not served.
func logsOnly(r *http.Request) (bool, error) {
	query := r.URL.Query()
	role := query.Get("role")
	beside := role != "" && role != agentRole
	version := query.Get("version")
	if version == "" || version == agentrpc.Version {
		return beside, nil
	}
	major, minor, _ := strings.Cut(version, ".")
	if number, err := strconv.ParseUint(minor, 10, 8); major == "2" && err == nil && number <= newestMinor && strconv.FormatUint(number, 10) == minor {
		return true, nil
	}
	return false, codersdk.Invalid("version",
		"this server does not serve version %.20q of the agent RPC; it serves 2.0 to 2.%d, and %s to its own agents", version, newestMinor, agentrpc.Version)
}

// logServer serves a program that runs beside the agent. Its connection does
// not make the agent connected, and its end does not disconnect the agent.
type logServer struct {
	presence *presence.Service
	token    string
	end      context.CancelCauseFunc // ends the connection
}

var _ agentv2.DRPCAgentServer = (*logServer)(nil)

// BatchCreateLogs appends lines to the agent's log. The connection may outlive
// the agent's build, so each batch is checked.
func (s *logServer) BatchCreateLogs(ctx context.Context, req *agentv2.BatchCreateLogsRequest) (*agentv2.BatchCreateLogsResponse, error) {
	agent, err := s.presence.AuthenticateLogs(ctx, s.token)
	if codersdk.Is(err, codersdk.CodeUnauthenticated, codersdk.CodeConflict) {
		time.AfterFunc(time.Second, func() { s.end(err) }) // the response is sent first
	}
	if err != nil {
		return nil, agentrpc.WithCode(err)
	}
	source, err := uuid.FromBytes(req.LogSourceId)
	if err != nil {
		return nil, agentrpc.WithCode(codersdk.Invalid("log_source_id", "must be a UUID of 16 bytes"))
	}
	lines := make([]presence.LogLine, len(req.Logs))
	for i, line := range req.Logs {
		lines[i] = presence.LogLine{CreatedAt: when(line.CreatedAt), Level: logLevel(line.Level), Output: line.Output}
	}
	full, err := s.presence.AppendLogs(ctx, agent, presence.LogBatch{Source: source, Lines: lines})
	if err != nil {
		return nil, agentrpc.WithCode(err)
	}
	return &agentv2.BatchCreateLogsResponse{LogLimitExceeded: full}, nil
}

// logLevel returns the REST name of a level, which is the wire's name in lower
// case.
func logLevel(l agentv2.Log_Level) codersdk.LogLevel {
	return codersdk.LogLevel(strings.ToLower(l.String()))
}

// logCalls returns the handler of a connection that only sends log lines.
func logCalls(s *logServer) (drpc.Handler, error) {
	mux := drpcmux.New()
	if err := agentv2.DRPCRegisterAgent(mux, s); err != nil {
		return nil, err
	}
	return servedCalls{mux}, nil
}

// servedCalls refuses unknown calls with DRPC's code for them, so that a client
// can distinguish them from a lost connection.
type servedCalls struct{ mux *drpcmux.Mux }

// HandleRPC serves one call.
func (c servedCalls) HandleRPC(stream drpc.Stream, rpc string) error {
	const served = "/coder.agent.v2.Agent/BatchCreateLogs"
	if rpc != served {
		return drpcerr.WithCode(errors.New(unserved(rpc)), drpcerr.Unimplemented)
	}
	return c.mux.HandleRPC(stream, rpc)
}

func unserved(rpc string) string {
	return fmt.Sprintf("This server does not serve %.100q on this connection, which accepts log lines only; use the agent that this server provides", rpc)
}
