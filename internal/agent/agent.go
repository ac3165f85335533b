// Package agent is the process that serves a workspace. It only dials out: a
// control connection to the server (manifest, reports, pings) and a link to the
// relay, through which clients reach its SSH server. It reconnects both
// indefinitely. The first manifest starts what the template declares: start
// scripts, cron scripts, metadata, and health checks of apps. All of it runs as
// long as the process. Reports are queued while the server is unreachable, so
// that the server receives them later, in order. (AG-01..19)
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

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent/environ"
	"github.com/seed-2a7f8fe7/coder/internal/agent/logfile"
	"github.com/seed-2a7f8fe7/coder/internal/agent/report"
	"github.com/seed-2a7f8fe7/coder/internal/clock"
	"github.com/seed-2a7f8fe7/coder/internal/gitauth"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// Config configures an Agent. URL is required, and Token unless Auth provides
// one.
type Config struct {
	URL   *url.URL // URL of the server
	Token string   // the agent's token, created by the build
	// Auth selects how the agent authenticates: "" uses Token; other values,
	// such as AuthAWS, use the identity of the cloud instance.
	Auth string
	// Name selects one of several agents on the cloud instance; "" is the only one.
	Name string
	// MetadataURL overrides the URL of the cloud's metadata service; "" means
	// the default of each cloud.
	MetadataURL string
	// NoFileTransfer refuses sftp, scp and similar commands.
	NoFileTransfer bool
	// SocketServer serves the units of the workspace's start (package startup)
	// on a Unix socket. The socket is at SocketPath. If that is "" or cannot be
	// used, it is in the script data directory or the directory for temporary
	// files.
	SocketServer bool
	SocketPath   string
	// Devcontainers manages dev containers if Docker is installed.
	// DiscoverDevcontainers also searches git repositories for them, and
	// AutostartDevcontainers starts the discovered ones that request it.
	Devcontainers, DiscoverDevcontainers, AutostartDevcontainers bool
	// Prioritize is called with each command of a session or script before it
	// starts; nil changes nothing.
	Prioritize func(*exec.Cmd)
	// Version is reported to the server.
	Version string
	// Subsystems are the environments that the agent runs in, reported to the
	// server.
	Subsystems []string
	// Env is the base environment of sessions and scripts; nil means that of
	// this process.
	Env []string
	// LogDir contains coder-agent.log and the logs of scripts; "" means the
	// directory for temporary files.
	LogDir string
	// ScriptDataDir contains the data of scripts; "" means LogDir.
	ScriptDataDir string
	// DebugAddress is the loopback address of the debug endpoints; "" serves
	// them through the tunnel only.
	DebugAddress string
	// Netcheck checks the network between this machine and the server for the debug
	// endpoints, with the STUN servers, host:port. The result is sent as JSON. Nil
	// means that no check is available.
	Netcheck func(ctx context.Context, stun []string, noDirect bool) any
	// Log receives the agent's own log. Nil means Stderr and coder-agent.log.
	Log    *slog.Logger
	Stderr io.Writer // nil: the log is written to the file only
	// HTTP is the client for requests to the server; nil means
	// http.DefaultClient.
	HTTP *http.Client
	// Relay dials the relay for clients; nil means that of the server.
	Relay tunnel.Relay
	// PingInterval is the interval between heartbeats; 0 means 15 s.
	PingInterval time.Duration
	// MonitorInterval is the interval between measurements of monitored memory
	// and volumes; 0 means 10 s.
	MonitorInterval time.Duration
	// Backoff is the approximate maximum wait before a reconnect; 0 means 3 s.
	Backoff time.Duration
}

// defaultDebugAddress is the default address of the debug endpoints.
const defaultDebugAddress = "127.0.0.1:2113"

// logFileName is the name of the agent's own log in LogDir.
const logFileName = "coder-agent.log"

// ConfigFromEnv reads CODER_AGENT_URL, CODER_AGENT_TOKEN or
// CODER_AGENT_TOKEN_FILE, CODER_AGENT_AUTH, CODER_AGENT_NAME, CODER_AGENT_SUBSYSTEM,
// CODER_AGENT_LOG_DIR, CODER_AGENT_SCRIPT_DATA_DIR,
// CODER_AGENT_BLOCK_FILE_TRANSFER, CODER_AGENT_SOCKET_SERVER_ENABLED,
// CODER_AGENT_SOCKET_PATH, CODER_AGENT_DEVCONTAINERS_ENABLE,
// CODER_AGENT_DEVCONTAINERS_PROJECT_DISCOVERY_ENABLE,
// CODER_AGENT_DEVCONTAINERS_DISCOVERY_AUTOSTART_ENABLE, CODER_PROC_PRIO_MGMT
// and CODER_AGENT_DEBUG_ADDRESS from an environment in the form of os.Environ.
// Its errors name the variable to set.
func ConfigFromEnv(env []string) (Config, error) {
	c := Config{
		Env: env, Token: environ.Variable(env, "CODER_AGENT_TOKEN"),
		LogDir: environ.Variable(env, "CODER_AGENT_LOG_DIR"), ScriptDataDir: environ.Variable(env, "CODER_AGENT_SCRIPT_DATA_DIR"),
		SocketPath: environ.Variable(env, "CODER_AGENT_SOCKET_PATH"),
	}
	c.DebugAddress = defaultDebugAddress
	if slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "CODER_AGENT_DEBUG_ADDRESS=") }) {
		c.DebugAddress = environ.Variable(env, "CODER_AGENT_DEBUG_ADDRESS")
	}
	if host, _, err := net.SplitHostPort(c.DebugAddress); c.DebugAddress != "" && (err != nil || net.ParseIP(host) == nil || !net.ParseIP(host).IsLoopback()) {
		return c, codersdk.Invalid("CODER_AGENT_DEBUG_ADDRESS", "%q is not a loopback address with a port, such as %s", c.DebugAddress, defaultDebugAddress)
	}
	c.Auth, c.Name = environ.Variable(env, "CODER_AGENT_AUTH"), environ.Variable(env, "CODER_AGENT_NAME")
	var err error
	for _, b := range []struct {
		to    *bool
		name  string
		unset bool
	}{
		{&c.NoFileTransfer, "CODER_AGENT_BLOCK_FILE_TRANSFER", false},
		{&c.SocketServer, "CODER_AGENT_SOCKET_SERVER_ENABLED", true},
		{&c.Devcontainers, "CODER_AGENT_DEVCONTAINERS_ENABLE", true},
		{&c.DiscoverDevcontainers, "CODER_AGENT_DEVCONTAINERS_PROJECT_DISCOVERY_ENABLE", true},
		{&c.AutostartDevcontainers, "CODER_AGENT_DEVCONTAINERS_DISCOVERY_AUTOSTART_ENABLE", false},
	} {
		if *b.to, err = environ.Boolean(env, b.name, b.unset); err != nil {
			return c, err
		}
	}
	if c.Prioritize, err = prioritize(env); err != nil {
		return c, err
	}
	raw := environ.Variable(env, "CODER_AGENT_URL")
	u, err := url.Parse(raw)
	if raw == "" || err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return c, codersdk.Invalid("CODER_AGENT_URL", "set it to the URL of the server, such as https://coder.example.com; got %q", raw)
	}
	c.URL = u
	if file := environ.Variable(env, "CODER_AGENT_TOKEN_FILE"); c.Token == "" && file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return c, codersdk.Invalid("CODER_AGENT_TOKEN_FILE", "%v", err)
		}
		c.Token = strings.TrimSpace(string(b))
	}
	for s := range strings.SplitSeq(environ.Variable(env, "CODER_AGENT_SUBSYSTEM"), ",") {
		if s = strings.TrimSpace(s); s != "" {
			c.Subsystems = append(c.Subsystems, s)
		}
	}
	return c, c.check()
}

func (c Config) check() error {
	if c.URL == nil {
		return codersdk.Invalid("URL", "the agent needs the URL of the server; set CODER_AGENT_URL")
	}
	switch c.Auth {
	case "", AuthToken:
	case AuthAWS, AuthAzure, AuthGoogle:
		return nil
	default:
		return codersdk.Invalid("CODER_AGENT_AUTH", "%q is not one of %s, %s, %s and %s", c.Auth, AuthToken, AuthAWS, AuthAzure, AuthGoogle)
	}
	if c.Token == "" {
		return codersdk.Invalid("Token", "the agent needs a token; set CODER_AGENT_TOKEN")
	}
	if _, err := uuid.Parse(c.Token); err != nil {
		return codersdk.Invalid("Token", "CODER_AGENT_TOKEN is not the token of a coder_agent")
	}
	return nil
}

// Agent is the agent process. It implements lifecycle.Service.
type Agent struct {
	c        Config
	log      *slog.Logger
	level    slog.LevelVar                   // log level, if log is the agent's own
	logFile  *logfile.File                   // nil if the caller provided the log
	client   atomic.Pointer[codersdk.Client] // client with the token
	refused  bool                            // the token was refused; used by the control connection's goroutine only
	identity *tunnel.Identity
	clock    clock.Clock // of the server

	stop context.CancelFunc // cancels the control connection
	done chan struct{}

	reports  *report.Queue
	counters counters
	online   atomic.Bool                              // whether the control connection is up
	control  atomic.Pointer[agentrpc.DRPCAgentClient] // the control connection, or nil
	now      chan struct{}                            // triggers an immediate ping
	secrets  userSecrets
	git      atomic.Pointer[gitauth.Cache] // of the current manifest; nil before the first

	mu   sync.Mutex
	life *life // state of the current manifest; nil before the first
}

// New returns an agent that does nothing until Start. It returns an error for
// an invalid configuration.
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
	a := &Agent{c: c, log: c.Log, identity: identity, now: make(chan struct{}, 1)}
	a.reports = report.NewQueue(a.clock.Now)
	server := codersdk.New(c.URL)
	if server.HTTP = a.clock.Client(c.HTTP); c.Auth == AuthToken {
		server.SessionToken = c.Token
	}
	a.client.Store(server)
	if a.c.Relay == nil {
		a.c.Relay = func(ctx context.Context) (tunnel.Link, error) { return tunnel.AgentRelay(a.server())(ctx) }
	}
	a.c.Relay = a.pingOnDial(a.c.Relay)
	if a.log == nil {
		f := logfile.New(filepath.Join(c.LogDir, logFileName))
		a.logFile = f
		w := io.Writer(f)
		if c.Stderr != nil {
			w = io.MultiWriter(c.Stderr, f)
		}
		a.log = slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: &a.level}))
	}
	return a, nil
}

// server returns a client of the server with the current token.
func (a *Agent) server() *codersdk.Client { return a.client.Load() }

// Start starts to dial the server and returns immediately.
func (a *Agent) Start(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	a.stop, a.done = cancel, make(chan struct{})
	a.log.Info("agent started", "url", a.c.URL.Redacted(), "version", a.c.Version)
	go func() {
		defer close(a.done)
		var debug sync.WaitGroup
		debug.Go(func() { a.serveDebug(ctx) })
		a.keepConnected(ctx)
		debug.Wait()
	}()
	return nil
}

// flushTimeout bounds the time for the last reports.
const flushTimeout = 5 * time.Second

// Stop runs the stop scripts, reports the agent as off, and stops everything.
// When ctx ends first, running scripts are killed.
func (a *Agent) Stop(ctx context.Context) error {
	a.log.Info("agent stopping")
	a.mu.Lock()
	l := a.life
	a.mu.Unlock()
	if l != nil {
		l.shutDown(ctx)
		flush, cancel := context.WithTimeout(ctx, flushTimeout)
		if err := a.reports.Flush(flush); err != nil {
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
		if late != l { // the first manifest arrived during the stop
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

// shutdownLimit bounds the whole shutdown, including the stop scripts.
const shutdownLimit = 5 * time.Minute

// Run starts the agent and stops it when ctx ends.
func (a *Agent) Run(ctx context.Context) error {
	if err := a.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
	defer cancel()
	return a.Stop(end)
}
