package agent

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent/environ"
	"github.com/seed-2a7f8fe7/coder/internal/devcontainer"
	"github.com/seed-2a7f8fe7/coder/internal/pty"
	"github.com/seed-2a7f8fe7/coder/internal/sshd"
	"github.com/seed-2a7f8fe7/coder/internal/startup"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// life holds everything that one manifest starts, until the next manifest.
type life struct {
	*Agent
	manifest *agentrpc.Manifest
	log      *slog.Logger
	env      []string
	data     string // script data directory; "" if it could not be created
	dir      string // working directory of sessions and scripts; "" means home
	ssh      *sshd.Server
	listener atomic.Pointer[tunnel.Listener]
	scripts  []*script
	gate     gate
	ptys     *pty.Set
	units    *startup.Server // nil if disabled or impossible

	containers *devcontainer.Set // nil if disabled or impossible

	ctx    context.Context // canceled by stop
	cancel context.CancelFunc

	stopStart context.CancelFunc // cancels start scripts and cron scripts
	begun     sync.WaitGroup     // start scripts and cron scripts
}

// begin starts what a manifest declares.
func (a *Agent) begin(m *agentrpc.Manifest) (*life, error) {
	_, err := uuid.FromBytes(m.AgentId)
	if err != nil {
		return nil, codersdk.Errorf(codersdk.CodeInternal, "the server sent a manifest without an agent").WithCause(err)
	}
	l := &life{Agent: a, manifest: m, log: a.log.With("agent", m.AgentName, "workspace", m.WorkspaceName)}
	bin := ""
	if l.data, err = dataDir(a.c.ScriptDataDir); err == nil {
		bin = filepath.Join(l.data, "bin")
		err = os.MkdirAll(bin, 0o700)
	}
	if err != nil { // a full disk must not prevent access
		l.log.Warn("cannot create the script data directory; is the disk full?", "error", err)
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.env = environ.Environment(a.c.Env, m, a.c.URL.String(), a.server().SessionToken, bin)
	if path := l.serveUnits(); path != "" {
		l.env = append(l.env, "CODER_AGENT_SOCKET_PATH="+path)
	}
	l.dir = environ.Expand(m.Directory, environ.Home(l.env), l.env)
	if l.dir != "" {
		if err := os.MkdirAll(l.dir, 0o755); err != nil {
			l.log.Warn("cannot create the agent's directory; sessions start in the home directory", "directory", l.dir, "error", err)
		}
	}
	l.containers = l.newContainers()
	l.scripts = newScripts(m.Scripts, l.log)
	l.gate.init(l.scripts)
	l.ssh, err = sshd.New(sshd.Config{
		HostKeySeed: m.SshHostKeySeed, Log: l.log, Env: l.env, MoreEnv: l.secrets.environment, Dir: l.dir,
		MOTDFile: environ.Expand(m.MotdFile, environ.Home(l.env), l.env), Gate: l.gate.pass, NoFileTransfer: a.c.NoFileTransfer, Prepare: a.c.Prioritize,
	})
	if err == nil {
		l.ptys = pty.New(l.ssh)
		err = l.listen()
	}
	if err != nil {
		l.closeUnits()
		l.cancel()
		return nil, err
	}
	start, stopStart := context.WithCancel(l.ctx)
	l.stopStart = stopStart
	l.reports.Lifecycle(codersdk.WorkspaceAgentLifecycleStarting)
	l.begun.Go(func() { l.startUp(start) })
	for _, d := range m.Metadata {
		l.begun.Go(func() { l.collect(start, d) })
	}
	for _, w := range m.Monitors {
		l.begun.Go(func() { l.monitor(start, w) })
	}
	for _, app := range m.Apps {
		l.begun.Go(func() { l.checkHealth(start, app) })
	}
	return l, nil
}

// listen starts to serve clients.
func (l *life) listen() error {
	ln, err := tunnel.Listen(tunnel.ListenConfig{
		Identity: l.identity, AgentID: uuid.UUID(l.manifest.AgentId), ClientCA: l.manifest.ClientCa, Relay: l.c.Relay, Handle: l.serve, Log: l.log, Now: l.clock.Now,
		Direct: direct(l.manifest), DialProxy: tunnel.DialProxy(l.server().HTTP), Sleep: sleepLimits(l.manifest),
	})
	if err != nil {
		return err
	}
	l.listener.Store(ln)
	return ln.Start(l.ctx)
}

// dataDir creates the script data directory in parent. In a directory for
// temporary files another user may have created it. Then dataDir creates a
// different one, because commands are run from it.
func dataDir(parent string) (string, error) {
	dir := filepath.Join(parent, "coder-script-data")
	if err := os.MkdirAll(dir, 0o700); err == nil && private(dir) {
		return dir, nil
	}
	return os.MkdirTemp("", "coder-script-data-")
}

// startUp runs the start scripts, reports their result, and then runs scripts
// on their schedules.
func (l *life) startUp(ctx context.Context) {
	begin := time.Now()
	end := l.runAll(ctx, stageStart)
	l.gate.open()
	if ctx.Err() != nil {
		return
	}
	state := codersdk.WorkspaceAgentLifecycleReady
	switch end {
	case statusExitFailure:
		state = codersdk.WorkspaceAgentLifecycleStartError
	case statusTimedOut:
		state = codersdk.WorkspaceAgentLifecycleStartTimeout
	}
	l.log.Info("start scripts finished", "state", state)
	l.counters.began(time.Since(begin).Seconds(), state)
	l.reports.Lifecycle(state)
	if l.containers != nil { // a script may have cloned repositories with dev containers
		l.begun.Go(func() { l.containers.Run(ctx) })
	}
	for _, s := range l.scripts {
		if s.schedule != nil {
			l.begun.Go(func() { l.runByClock(ctx, s) })
		}
	}
}

// shutDown ends what startUp started, runs the stop scripts, and reports their
// result.
func (l *life) shutDown(ctx context.Context) {
	l.stopStart()
	l.begun.Wait()
	l.reports.Lifecycle(codersdk.WorkspaceAgentLifecycleShuttingDown)
	state := codersdk.WorkspaceAgentLifecycleOff
	switch l.runAll(ctx, stageStop) {
	case statusExitFailure:
		state = codersdk.WorkspaceAgentLifecycleShutdownError
	case statusTimedOut:
		state = codersdk.WorkspaceAgentLifecycleShutdownTimeout
	}
	l.reports.Lifecycle(state)
}

// stop ends everything immediately, without the stop scripts.
func (l *life) stop(ctx context.Context) {
	l.stopStart()
	l.ptys.Close() // detached shells would delay the close of the tunnels
	if err := l.listener.Load().Stop(ctx); err != nil {
		l.log.Warn("tunnels did not close in time", "error", err)
	}
	l.closeUnits()
	l.cancel()
	l.begun.Wait()
	for _, s := range l.scripts {
		if s.file != nil {
			s.file.Close()
		}
	}
}
