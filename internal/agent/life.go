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

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/internal/devcontainer"
	"github.com/seed-2a7f8fe7/coder/internal/pty"
	"github.com/seed-2a7f8fe7/coder/internal/sshd"
	"github.com/seed-2a7f8fe7/coder/internal/startup"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// life is what one manifest declares, from its begin to its end.
type life struct {
	*Agent
	manifest *agentrpc.Manifest
	log      *slog.Logger
	env      []string
	data     string // what scripts keep, "" where there is no room for it
	dir      string // where sessions and scripts begin, "" for home
	ssh      *sshd.Server
	listener atomic.Pointer[tunnel.Listener]
	scripts  []*script
	gate     gate
	ptys     *pty.Set
	units    *startup.Server // nil where that is not wanted, or not possible

	containers *devcontainer.Set // nil where that is not wanted, or not possible

	ctx    context.Context // ends at stop
	cancel context.CancelFunc

	stopStart context.CancelFunc // ends start scripts and what runs by the clock
	begun     sync.WaitGroup     // those
}

// begin begins what a manifest declares.
func (a *Agent) begin(m *agentrpc.Manifest) (*life, error) {
	_, err := uuid.FromBytes(m.AgentId)
	if err != nil {
		return nil, coder.Errorf(coder.CodeInternal, "the server sent a manifest without an agent").WithCause(err)
	}
	l := &life{Agent: a, manifest: m, log: a.log.With("agent", m.AgentName, "workspace", m.WorkspaceName)}
	bin := ""
	if l.data, err = dataDir(a.c.ScriptDataDir); err == nil {
		bin = filepath.Join(l.data, "bin")
		err = os.MkdirAll(bin, 0o700)
	}
	if err != nil { // a full disk must not keep anybody out
		l.log.Warn("the directory for what scripts keep could not be made; is the disk full?", "error", err)
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.env = environment(a.c.Env, m, a.c.URL.String(), a.server().SessionToken, bin)
	if path := l.serveUnits(); path != "" {
		l.env = append(l.env, "CODER_AGENT_SOCKET_PATH="+path)
	}
	l.dir = expand(m.Directory, home(l.env), l.env)
	if l.dir != "" {
		if err := os.MkdirAll(l.dir, 0o755); err != nil {
			l.log.Warn("the agent's directory could not be made; sessions begin at home", "directory", l.dir, "error", err)
		}
	}
	l.containers = l.newContainers()
	l.scripts = newScripts(m.Scripts, l.log)
	l.gate.init(l.scripts)
	l.ssh, err = sshd.New(sshd.Config{
		HostKeySeed: m.SshHostKeySeed, Log: l.log, Env: l.env, Dir: l.dir,
		MOTDFile: expand(m.MotdFile, home(l.env), l.env), Gate: l.gate.pass, NoFileTransfer: a.c.NoFileTransfer, Prepare: a.c.Prioritize,
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
	l.reports.lifecycle(coder.WorkspaceAgentLifecycleStarting)
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

// listen begins to serve clients.
func (l *life) listen() error {
	ln, err := tunnel.Listen(tunnel.ListenConfig{
		Identity: l.identity, AgentID: uuid.UUID(l.manifest.AgentId), ClientCA: l.manifest.ClientCa, Relay: l.c.Relay, Handle: l.serve, Log: l.log,
		Direct: direct(l.manifest),
	})
	if err != nil {
		return err
	}
	l.listener.Store(ln)
	return ln.Start(l.ctx)
}

// dataDir makes the directory for what scripts keep in parent. Where somebody
// else has put one, which may be anybody in a directory for temporary files,
// another is made, for commands are run from it.
func dataDir(parent string) (string, error) {
	dir := filepath.Join(parent, "coder-script-data")
	if err := os.MkdirAll(dir, 0o700); err == nil && private(dir) {
		return dir, nil
	}
	return os.MkdirTemp("", "coder-script-data-")
}

// startUp runs the start scripts, reports how they ended, and from then on
// runs scripts by the clock.
func (l *life) startUp(ctx context.Context) {
	begin := time.Now()
	end := l.runAll(ctx, stageStart)
	l.gate.open()
	if ctx.Err() != nil {
		return
	}
	state := coder.WorkspaceAgentLifecycleReady
	switch end {
	case statusExitFailure:
		state = coder.WorkspaceAgentLifecycleStartError
	case statusTimedOut:
		state = coder.WorkspaceAgentLifecycleStartTimeout
	}
	l.log.Info("the start scripts are done", "state", state)
	l.counters.began(time.Since(begin).Seconds(), state)
	l.reports.lifecycle(state)
	if l.containers != nil { // what a script clones may declare some
		l.begun.Go(func() { l.containers.Run(ctx) })
	}
	for _, s := range l.scripts {
		if s.schedule != nil {
			l.begun.Go(func() { l.runByClock(ctx, s) })
		}
	}
}

// shutDown ends what start-up began, runs the stop scripts, and reports how
// they ended.
func (l *life) shutDown(ctx context.Context) {
	l.stopStart()
	l.begun.Wait()
	l.reports.lifecycle(coder.WorkspaceAgentLifecycleShuttingDown)
	state := coder.WorkspaceAgentLifecycleOff
	switch l.runAll(ctx, stageStop) {
	case statusExitFailure:
		state = coder.WorkspaceAgentLifecycleShutdownError
	case statusTimedOut:
		state = coder.WorkspaceAgentLifecycleShutdownTimeout
	}
	l.reports.lifecycle(state)
}

// stop ends everything at once, without the stop scripts.
func (l *life) stop(ctx context.Context) {
	l.stopStart()
	l.ptys.Close() // their shells wait for somebody to come back, and would hold up the tunnels
	if err := l.listener.Load().Stop(ctx); err != nil {
		l.log.Warn("tunnels did not end in time", "error", err)
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
