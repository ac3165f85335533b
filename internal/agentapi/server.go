package agentapi

import (
	"context"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
)

// server serves the calls of one agent's connection.
type server struct {
	presence *presence.Service
	conn     presence.Connection
	secrets  Secrets
	links    func(owner uuid.UUID) (<-chan struct{}, func())
	hints    hints
	visitors *visitors
	end      context.CancelCauseFunc // ends the connection
}

var _ agentrpc.DRPCAgentServer = (*server)(nil)

// Hello records the agent's connection and replies with the manifest.
func (s *server) Hello(ctx context.Context, req *agentrpc.HelloRequest) (*agentrpc.Manifest, error) {
	m, err := s.presence.Hello(ctx, s.conn, presence.Hello{
		Version: req.Version, APIVersion: agentrpc.Version, ExpandedDirectory: req.ExpandedDirectory,
		Subsystems: req.Subsystems, Certificate: req.Certificate,
	})
	if err != nil {
		return nil, agentrpc.WithCode(err)
	}
	if req.Hints {
		s.hints.watch(s.sources()...)
	}
	return manifest(m), nil
}

// sources returns what the agent gets hints about.
func (s *server) sources() (out []source) {
	a := s.conn.Agent
	if s.secrets != nil {
		out = append(out, source{agentrpc.Hint_HINT_USER_SECRETS, func() (<-chan struct{}, func()) { return s.secrets.Subscribe(a.OwnerID, a.TemplateID) }})
	}
	if s.links != nil {
		out = append(out, source{agentrpc.Hint_HINT_EXTERNAL_AUTH, func() (<-chan struct{}, func()) { return s.links(a.OwnerID) }})
	}
	return out
}

// manifest converts a manifest to wire form.
func manifest(m presence.Manifest) *agentrpc.Manifest {
	a := m.Agent
	out := &agentrpc.Manifest{
		AgentId: a.ID[:], AgentName: a.Name, WorkspaceId: a.WorkspaceID[:], WorkspaceName: a.WorkspaceName,
		OwnerId: a.OwnerID[:], OwnerUsername: a.OwnerUsername, Environment: m.Environment, Directory: m.Directory,
		MotdFile: m.MOTDFile, AccessUrl: m.AccessURL, PortUrl: m.PortURL, ClientCa: m.ClientCA,
		DisableDirectConnections: m.DisableDirect, StunServers: m.STUN, SshHostKeySeed: m.HostKeySeed,
		SleepMemory: m.Sleep.Memory, SleepSeconds: int64(m.Sleep.Time / time.Second),
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
		out.Devcontainers = append(out.Devcontainers, &agentrpc.Devcontainer{
			Id:              d.ID[:],
			Name:            d.Name,
			WorkspaceFolder: d.WorkspaceFolder,
			ConfigPath:      d.ConfigPath,
		})
	}
	for _, app := range m.Apps {
		out.Apps = append(out.Apps, &agentrpc.App{
			Id: app.ID[:], Slug: app.Slug, Url: app.URL, HealthcheckUrl: app.HealthcheckUrl,
			HealthcheckIntervalSeconds: app.HealthcheckInterval, HealthcheckThreshold: app.HealthcheckThreshold,
		})
	}
	return out
}

// UpdateLifecycle records a lifecycle state.
func (s *server) UpdateLifecycle(ctx context.Context, req *agentrpc.LifecycleRequest) (*agentrpc.Empty, error) {
	return done(s.presence.SetLifecycle(ctx, s.conn.Agent, codersdk.WorkspaceAgentLifecycle(req.State), when(req.ChangedAt)))
}

// AppendLogs appends log lines.
func (s *server) AppendLogs(ctx context.Context, req *agentrpc.LogsRequest) (*agentrpc.LogsResponse, error) {
	src, err := uuid.FromBytes(req.LogSourceId)
	if err != nil {
		return nil, agentrpc.WithCode(codersdk.Invalid("log_source_id", "is not a UUID"))
	}
	var sequence uuid.UUID // none from an agent of an earlier version
	if len(req.SequenceId) > 0 {
		if sequence, err = uuid.FromBytes(req.SequenceId); err != nil {
			return nil, agentrpc.WithCode(codersdk.Invalid("sequence_id", "is not a UUID"))
		}
	}
	if req.First < 0 {
		return nil, agentrpc.WithCode(codersdk.Invalid("first", "is negative"))
	}
	lines := make([]presence.LogLine, len(req.Lines))
	for i, l := range req.Lines {
		lines[i] = presence.LogLine{CreatedAt: when(l.CreatedAt), Level: codersdk.LogLevel(l.Level), Output: l.Output}
	}
	full, err := s.presence.AppendLogs(ctx, s.conn.Agent, presence.LogBatch{Source: src, Lines: lines, Sequence: sequence, First: req.First})
	if err != nil {
		return nil, agentrpc.WithCode(err)
	}
	return &agentrpc.LogsResponse{Overflowed: full}, nil
}

// ReportScriptTiming records the duration of a script.
func (s *server) ReportScriptTiming(ctx context.Context, req *agentrpc.ScriptTimingRequest) (*agentrpc.Empty, error) {
	id, err := uuid.FromBytes(req.ScriptId)
	if err != nil {
		return nil, agentrpc.WithCode(codersdk.Invalid("script_id", "is not a UUID"))
	}
	return done(s.presence.AddScriptTiming(ctx, s.conn.Agent, presence.ScriptTiming{
		ScriptID: id, StartedAt: when(req.StartedAt), EndedAt: when(req.EndedAt),
		ExitCode: req.ExitCode, Stage: req.Stage, Status: req.Status,
	}))
}

// UpdateAppHealth records the health of apps.
func (s *server) UpdateAppHealth(ctx context.Context, req *agentrpc.AppHealthRequest) (*agentrpc.Empty, error) {
	health := make(map[uuid.UUID]codersdk.WorkspaceAppHealth, len(req.Health))
	for id, h := range req.Health {
		app, err := uuid.Parse(id)
		if err != nil {
			return nil, agentrpc.WithCode(codersdk.Invalid("health", "%q is not a UUID", id))
		}
		health[app] = codersdk.WorkspaceAppHealth(h)
	}
	return done(s.presence.SetAppHealth(ctx, s.conn.Agent, health))
}

// UpdateMetadata records metadata.
func (s *server) UpdateMetadata(ctx context.Context, req *agentrpc.MetadataRequest) (*agentrpc.Empty, error) {
	values := make([]presence.MetadataValue, len(req.Values))
	for i, v := range req.Values {
		values[i] = presence.MetadataValue{Key: v.Key, Value: v.Value, Error: v.Error, CollectedAt: when(v.CollectedAt)}
	}
	return done(s.presence.PutMetadata(ctx, s.conn.Agent, values))
}

// UpdateMonitor records that memory or disk space runs low, or no longer does.
func (s *server) UpdateMonitor(ctx context.Context, req *agentrpc.MonitorRequest) (*agentrpc.Empty, error) {
	return done(s.presence.SetMonitor(ctx, s.conn.Agent, req.Path, req.Short, req.Percent))
}

// UpdateStats records the usage of the workspace.
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

// Ping records a heartbeat. A connection that was replaced receives that in the
// response, and is closed a moment later, so that the response arrives.
func (s *server) Ping(ctx context.Context, req *agentrpc.PingRequest) (*agentrpc.PingResponse, error) {
	err := s.presence.Ping(ctx, s.conn)
	if codersdk.Is(err, codersdk.CodeConflict) {
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

// when returns the time of t, or the zero time if it is missing or out of
// range.
func when(t *timestamppb.Timestamp) time.Time {
	if t.CheckValid() != nil {
		return time.Time{}
	}
	return t.AsTime()
}
