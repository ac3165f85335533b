package agentapi

import (
	"context"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
)

// server answers the calls of one agent's connection.
type server struct {
	presence *presence.Service
	conn     presence.Connection
	visitors *visitors
	end      context.CancelCauseFunc // ends the connection
}

var _ agentrpc.DRPCAgentServer = (*server)(nil)

// Hello notes who connected and answers with the manifest.
func (s *server) Hello(ctx context.Context, req *agentrpc.HelloRequest) (*agentrpc.Manifest, error) {
	m, err := s.presence.Hello(ctx, s.conn, presence.Hello{
		Version: req.Version, APIVersion: APIVersion, ExpandedDirectory: req.ExpandedDirectory,
		Subsystems: req.Subsystems, Certificate: req.Certificate,
	})
	if err != nil {
		return nil, agentrpc.WithCode(err)
	}
	return manifest(m), nil
}

// manifest puts a manifest into wire form.
func manifest(m presence.Manifest) *agentrpc.Manifest {
	a := m.Agent
	out := &agentrpc.Manifest{
		AgentId: a.ID[:], AgentName: a.Name, WorkspaceId: a.WorkspaceID[:], WorkspaceName: a.WorkspaceName,
		OwnerId: a.OwnerID[:], OwnerUsername: a.OwnerUsername, Environment: m.Environment, Directory: m.Directory,
		MotdFile: m.MOTDFile, AccessUrl: m.AccessURL, PortUrl: m.PortURL, ClientCa: m.ClientCA,
		DisableDirectConnections: m.DisableDirect, StunServers: m.STUN, SshHostKeySeed: m.HostKeySeed,
	}
	for _, sc := range m.Scripts {
		out.Scripts = append(out.Scripts, &agentrpc.Script{
			Id: sc.ID[:], LogSourceId: sc.LogSourceID[:], DisplayName: sc.DisplayName, Icon: sc.Icon, Script: sc.Script,
			Cron: sc.Cron, LogPath: sc.LogPath, RunOnStart: sc.RunOnStart, RunOnStop: sc.RunOnStop,
			StartBlocksLogin: sc.StartBlocksLogin, TimeoutSeconds: int64(sc.Timeout / time.Second),
		})
	}
	for _, d := range m.Metadata {
		out.Metadata = append(out.Metadata, &agentrpc.Metadata{
			Key: d.Key, DisplayName: d.DisplayName, Script: d.Script, IntervalSeconds: d.Interval, TimeoutSeconds: d.Timeout,
		})
	}
	for _, w := range m.Monitors {
		out.Monitors = append(out.Monitors, &agentrpc.Monitor{Path: w.Path, Threshold: w.Threshold})
	}
	if m.Parent != nil {
		out.ParentId = m.Parent[:]
	}
	for _, d := range m.Devcontainers {
		out.Devcontainers = append(out.Devcontainers, &agentrpc.Devcontainer{Id: d.ID[:], Name: d.Name, WorkspaceFolder: d.WorkspaceFolder, ConfigPath: d.ConfigPath})
	}
	for _, app := range m.Apps {
		out.Apps = append(out.Apps, &agentrpc.App{
			Id: app.ID[:], Slug: app.Slug, Url: app.URL, HealthcheckUrl: app.HealthcheckUrl,
			HealthcheckIntervalSeconds: app.HealthcheckInterval, HealthcheckThreshold: app.HealthcheckThreshold,
		})
	}
	return out
}

// UpdateLifecycle takes a state.
func (s *server) UpdateLifecycle(ctx context.Context, req *agentrpc.LifecycleRequest) (*agentrpc.Empty, error) {
	return done(s.presence.SetLifecycle(ctx, s.conn.Agent, coder.WorkspaceAgentLifecycle(req.State), when(req.ChangedAt)))
}

// AppendLogs takes log lines.
func (s *server) AppendLogs(ctx context.Context, req *agentrpc.LogsRequest) (*agentrpc.LogsResponse, error) {
	src, err := uuid.FromBytes(req.LogSourceId)
	if err != nil {
		return nil, agentrpc.WithCode(coder.Invalid("log_source_id", "not an id"))
	}
	lines := make([]presence.LogLine, len(req.Lines))
	for i, l := range req.Lines {
		lines[i] = presence.LogLine{CreatedAt: when(l.CreatedAt), Level: coder.LogLevel(l.Level), Output: l.Output}
	}
	full, err := s.presence.AppendLogs(ctx, s.conn.Agent, src, lines)
	if err != nil {
		return nil, agentrpc.WithCode(err)
	}
	return &agentrpc.LogsResponse{Overflowed: full}, nil
}

// ReportScriptTiming takes how long a script ran.
func (s *server) ReportScriptTiming(ctx context.Context, req *agentrpc.ScriptTimingRequest) (*agentrpc.Empty, error) {
	id, err := uuid.FromBytes(req.ScriptId)
	if err != nil {
		return nil, agentrpc.WithCode(coder.Invalid("script_id", "not an id"))
	}
	return done(s.presence.AddScriptTiming(ctx, s.conn.Agent, presence.ScriptTiming{
		ScriptID: id, StartedAt: when(req.StartedAt), EndedAt: when(req.EndedAt),
		ExitCode: req.ExitCode, Stage: req.Stage, Status: req.Status,
	}))
}

// UpdateAppHealth takes how the apps do.
func (s *server) UpdateAppHealth(ctx context.Context, req *agentrpc.AppHealthRequest) (*agentrpc.Empty, error) {
	health := make(map[uuid.UUID]coder.WorkspaceAppHealth, len(req.Health))
	for id, h := range req.Health {
		app, err := uuid.Parse(id)
		if err != nil {
			return nil, agentrpc.WithCode(coder.Invalid("health", "%q is not an id", id))
		}
		health[app] = coder.WorkspaceAppHealth(h)
	}
	return done(s.presence.SetAppHealth(ctx, s.conn.Agent, health))
}

// UpdateMetadata takes metadata.
func (s *server) UpdateMetadata(ctx context.Context, req *agentrpc.MetadataRequest) (*agentrpc.Empty, error) {
	values := make([]presence.MetadataValue, len(req.Values))
	for i, v := range req.Values {
		values[i] = presence.MetadataValue{Key: v.Key, Value: v.Value, Error: v.Error, CollectedAt: when(v.CollectedAt)}
	}
	return done(s.presence.PutMetadata(ctx, s.conn.Agent, values))
}

// UpdateMonitor takes that something runs short, or no more.
func (s *server) UpdateMonitor(ctx context.Context, req *agentrpc.MonitorRequest) (*agentrpc.Empty, error) {
	return done(s.presence.SetMonitor(ctx, s.conn.Agent, req.Path, req.Short, req.Percent))
}

// UpdateStats takes how much the workspace is in use.
func (s *server) UpdateStats(ctx context.Context, req *agentrpc.StatsRequest) (*agentrpc.StatsResponse, error) {
	next, err := s.presence.PutStats(ctx, s.conn.Agent, presence.Stats{
		SSH: req.SessionCountSsh, VSCode: req.SessionCountVscode, JetBrains: req.SessionCountJetbrains, ReconnectingPTY: req.SessionCountReconnectingPty,
		RxBytes: req.RxBytes, TxBytes: req.TxBytes, LatencyMS: req.ConnectionMedianLatencyMs,
		Connections: req.ConnectionCount, Direct: req.PeersDirect, Relayed: req.PeersRelayed,
	})
	if err != nil {
		return nil, agentrpc.WithCode(err)
	}
	return &agentrpc.StatsResponse{ReportIntervalSeconds: int64(next / time.Second)}, nil
}

// Ping takes a sign of life. A connection that counts no more is told so and
// ended, a moment later, so that the answer still arrives.
func (s *server) Ping(ctx context.Context, req *agentrpc.PingRequest) (*agentrpc.PingResponse, error) {
	err := s.presence.Ping(ctx, s.conn)
	if coder.Is(err, coder.CodeConflict) {
		time.AfterFunc(time.Second, func() { s.end(err) })
	}
	if err != nil {
		return nil, agentrpc.WithCode(err)
	}
	return &agentrpc.PingResponse{Gone: s.visitors.see(req.Users)}, nil
}

func done(err error) (*agentrpc.Empty, error) {
	if err != nil {
		return nil, agentrpc.WithCode(err)
	}
	return &agentrpc.Empty{}, nil
}

// when gives the time of t, the zero time when there is none or it is absurd.
func when(t *timestamppb.Timestamp) time.Time {
	if t.CheckValid() != nil {
		return time.Time{}
	}
	return t.AsTime()
}
