// Package agent is the process in a workspace that serves its developer. It
// dials out and nothing listens: one control connection to the server (who am
// I, what shall I run, how is it going) and one link to the relay, through
// which clients reach its SSH server. Both are dialed again for ever. What the
// template declares begins with the first manifest and lasts as long as the
// process: start scripts, cron scripts, metadata, health checks of apps. What
// is to be reported waits in queues while there is no connection, so that the
// server learns all of it, in order, later. (AG-01..19)
package agent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// Config is what an Agent needs. URL is required, and Token unless Auth says how
// to get one.
type Config struct {
	URL   *url.URL // the server
	Token string   // the agent's token, made by the build
	// Auth is how the agent proves who it is: with its Token, which "" means, or
	// by what the cloud says of this machine, as AuthAWS.
	Auth string
	// MetadataURL is where the cloud says so; "" for where each cloud does.
	MetadataURL string
	// NoFileTransfer refuses sftp, scp and the like.
	NoFileTransfer bool
	// SocketServer serves the units of the workspace's start (package startup) on
	// a Unix socket at SocketPath; "" for one beside what scripts keep.
	SocketServer bool
	SocketPath   string
	// Devcontainers keeps dev containers, where there is Docker; DiscoverDevcontainers
	// looks for them in git repositories too, and AutostartDevcontainers brings up
	// those of them that ask for it.
	Devcontainers, DiscoverDevcontainers, AutostartDevcontainers bool
	// Prioritize is given each command of a session or script before it begins;
	// nil leaves them as they are.
	Prioritize func(*exec.Cmd)
	// Version is told to the server.
	Version string
	// Subsystems says what else the agent runs inside of.
	Subsystems []string
	// Env is the environment that sessions and scripts begin with; nil means
	// that of this process.
	Env []string
	// LogDir holds coder-agent.log and the logs of scripts; "" means the
	// directory for temporary files.
	LogDir string
	// ScriptDataDir holds what scripts keep: "" means LogDir.
	ScriptDataDir string
	// DebugAddress serves the debug endpoints, to this machine alone; "" serves
	// them through the tunnel only.
	DebugAddress string
	// Log takes the agent's own log. Nil means Stderr and coder-agent.log.
	Log    *slog.Logger
	Stderr io.Writer // nil: nothing is written beside the file
	// HTTP reaches the server; nil: http.DefaultClient.
	HTTP *http.Client
	// Relay reaches clients; nil: through the server.
	Relay tunnel.Relay
	// PingInterval is how often the agent says that it lives; 0 means 15 s.
	PingInterval time.Duration
	// MonitorInterval is how often the use of memory and volumes is measured
	// that the template has watched; 0 means 10 s.
	MonitorInterval time.Duration
	// Backoff is about the longest wait before the server is dialed again; 0
	// means 3 s.
	Backoff time.Duration
}

// defaultDebugAddress is where the debug endpoints are unless the environment
// says otherwise.
const defaultDebugAddress = "127.0.0.1:2113"

// logFileName is the agent's own log in its LogDir.
const logFileName = "coder-agent.log"

// ConfigFromEnv reads CODER_AGENT_URL, CODER_AGENT_TOKEN or
// CODER_AGENT_TOKEN_FILE, CODER_AGENT_AUTH, CODER_AGENT_SUBSYSTEM,
// CODER_AGENT_LOG_DIR, CODER_AGENT_SCRIPT_DATA_DIR,
// CODER_AGENT_BLOCK_FILE_TRANSFER, CODER_AGENT_SOCKET_SERVER_ENABLED,
// CODER_AGENT_SOCKET_PATH, CODER_AGENT_DEVCONTAINERS_ENABLE,
// CODER_AGENT_DEVCONTAINERS_PROJECT_DISCOVERY_ENABLE,
// CODER_AGENT_DEVCONTAINERS_DISCOVERY_AUTOSTART_ENABLE, CODER_PROC_PRIO_MGMT and
// CODER_AGENT_DEBUG_ADDRESS from an environment as os.Environ gives it. The errors say what to set.
func ConfigFromEnv(env []string) (Config, error) {
	c := Config{
		Env: env, Token: variable(env, "CODER_AGENT_TOKEN"),
		LogDir: variable(env, "CODER_AGENT_LOG_DIR"), ScriptDataDir: variable(env, "CODER_AGENT_SCRIPT_DATA_DIR"),
		SocketPath: variable(env, "CODER_AGENT_SOCKET_PATH"),
	}
	c.DebugAddress = defaultDebugAddress
	if slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "CODER_AGENT_DEBUG_ADDRESS=") }) {
		c.DebugAddress = variable(env, "CODER_AGENT_DEBUG_ADDRESS")
	}
	if host, _, err := net.SplitHostPort(c.DebugAddress); c.DebugAddress != "" && (err != nil || net.ParseIP(host) == nil || !net.ParseIP(host).IsLoopback()) {
		return c, coder.Invalid("CODER_AGENT_DEBUG_ADDRESS", "%q is no loopback address with a port, such as %s", c.DebugAddress, defaultDebugAddress)
	}
	c.Auth = variable(env, "CODER_AGENT_AUTH")
	var err error
	for _, b := range []struct {
		to    *bool
		name  string
		unset bool
	}{
		{&c.NoFileTransfer, "CODER_AGENT_BLOCK_FILE_TRANSFER", false},
		{&c.SocketServer, "CODER_AGENT_SOCKET_SERVER_ENABLED", false},
		{&c.Devcontainers, "CODER_AGENT_DEVCONTAINERS_ENABLE", true},
		{&c.DiscoverDevcontainers, "CODER_AGENT_DEVCONTAINERS_PROJECT_DISCOVERY_ENABLE", true},
		{&c.AutostartDevcontainers, "CODER_AGENT_DEVCONTAINERS_DISCOVERY_AUTOSTART_ENABLE", false},
	} {
		if *b.to, err = boolean(env, b.name, b.unset); err != nil {
			return c, err
		}
	}
	if c.Prioritize, err = prioritize(env); err != nil {
		return c, err
	}
	raw := variable(env, "CODER_AGENT_URL")
	u, err := url.Parse(raw)
	if raw == "" || err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return c, coder.Invalid("CODER_AGENT_URL", "set it to the URL of the server, such as https://coder.example.com; it is %q", raw)
	}
	c.URL = u
	if file := variable(env, "CODER_AGENT_TOKEN_FILE"); c.Token == "" && file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return c, coder.Invalid("CODER_AGENT_TOKEN_FILE", "%v", err)
		}
		c.Token = strings.TrimSpace(string(b))
	}
	for s := range strings.SplitSeq(variable(env, "CODER_AGENT_SUBSYSTEM"), ",") {
		if s = strings.TrimSpace(s); s != "" {
			c.Subsystems = append(c.Subsystems, s)
		}
	}
	return c, c.check()
}

func (c Config) check() error {
	if c.URL == nil {
		return coder.Invalid("URL", "the agent needs the URL of its server: set CODER_AGENT_URL")
	}
	switch c.Auth {
	case "", AuthToken:
	case AuthAWS, AuthAzure, AuthGoogle:
		return nil
	default:
		return coder.Invalid("CODER_AGENT_AUTH", "%q is none of %s, %s, %s and %s", c.Auth, AuthToken, AuthAWS, AuthAzure, AuthGoogle)
	}
	if c.Token == "" {
		return coder.Invalid("Token", "the agent needs its token: set CODER_AGENT_TOKEN")
	}
	if _, err := uuid.Parse(c.Token); err != nil {
		return coder.Invalid("Token", "CODER_AGENT_TOKEN is not a token that coder_agent makes")
	}
	return nil
}

// Agent is the process: a lifecycle.Service.
type Agent struct {
	c        Config
	log      *slog.Logger
	level    slog.LevelVar                 // of log, if it is the agent's own
	logFile  *logFile                      // nil: the log is somebody else's
	client   atomic.Pointer[client.Client] // with the token
	refused  bool                          // that token; only the control connection's goroutine looks
	identity *tunnel.Identity

	stop context.CancelFunc // ends the control connection
	done chan struct{}

	reports  *reports
	counters counters
	online   atomic.Bool                              // the control connection is up
	control  atomic.Pointer[agentrpc.DRPCAgentClient] // that connection, nil while there is none
	now      chan struct{}                            // has the agent say at once that it lives

	mu   sync.Mutex
	life *life // what the manifest declares, nil before the first
}

// New gives an agent that does nothing until Start. The error says what is
// wrong with c.
func New(c Config) (*Agent, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Auth == "" {
		c.Auth = AuthToken
	}
	if c.Env == nil {
		c.Env = os.Environ()
	}
	if c.LogDir == "" {
		c.LogDir = os.TempDir()
	}
	if c.ScriptDataDir == "" {
		c.ScriptDataDir = c.LogDir
	}
	if c.PingInterval <= 0 {
		c.PingInterval = 15 * time.Second
	}
	if c.MonitorInterval <= 0 {
		c.MonitorInterval = 10 * time.Second
	}
	if c.Backoff <= 0 {
		c.Backoff = 3 * time.Second
	}
	identity, err := tunnel.NewIdentity()
	if err != nil {
		return nil, err
	}
	a := &Agent{c: c, log: c.Log, identity: identity, reports: newReports(), now: make(chan struct{}, 1)}
	server := client.New(c.URL)
	if server.HTTP = c.HTTP; c.Auth == AuthToken {
		server.SessionToken = c.Token
	}
	a.client.Store(server)
	if a.c.Relay == nil {
		a.c.Relay = func(ctx context.Context) (relay.Link, error) { return tunnel.AgentRelay(a.server())(ctx) }
	}
	a.c.Relay = a.wary(a.c.Relay)
	if a.log == nil {
		f := newLogFile(filepath.Join(c.LogDir, logFileName))
		a.logFile = f
		w := io.Writer(f)
		if c.Stderr != nil {
			w = io.MultiWriter(c.Stderr, f)
		}
		a.log = slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: &a.level}))
	}
	return a, nil
}

// server gives the server, and who we are to it now.
func (a *Agent) server() *client.Client { return a.client.Load() }

// Start begins to dial the server and returns at once.
func (a *Agent) Start(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	a.stop, a.done = cancel, make(chan struct{})
	a.log.Info("the agent starts", "url", a.c.URL.Redacted(), "version", a.c.Version)
	go func() {
		defer close(a.done)
		var debug sync.WaitGroup
		debug.Go(func() { a.serveDebug(ctx) })
		a.connectForEver(ctx)
		debug.Wait()
	}()
	return nil
}

// flushTimeout bounds how long the last reports may take.
const flushTimeout = 5 * time.Second

// Stop runs the stop scripts, reports that the agent is off, and ends
// everything. When ctx ends before, scripts are killed.
func (a *Agent) Stop(ctx context.Context) error {
	a.log.Info("the agent stops")
	a.mu.Lock()
	l := a.life
	a.mu.Unlock()
	if l != nil {
		l.shutDown(ctx)
		flush, cancel := context.WithTimeout(ctx, flushTimeout)
		if err := a.reports.flushed(flush); err != nil {
			a.log.Warn("the last reports did not reach the server", "error", err)
		}
		cancel()
		l.stop(ctx)
	}
	a.stop()
	var err error
	select {
	case <-a.done:
		a.mu.Lock()
		late := a.life
		a.mu.Unlock()
		if late != l { // the first manifest came while we stopped
			late.stop(ctx)
		}
	case <-ctx.Done():
		err = ctx.Err()
	}
	if a.logFile != nil {
		err = errors.Join(err, a.logFile.Close())
	}
	return err
}

// shutdownLimit bounds the stop scripts and all else of a stop.
const shutdownLimit = 5 * time.Minute

// Run starts the agent, and stops it when ctx ends.
func (a *Agent) Run(ctx context.Context) error {
	if err := a.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
	defer cancel()
	return a.Stop(end)
}
