// Package remote is the command group that connects to workspaces: ssh,
// config-ssh, port-forward, ping and others. All commands dial the agent
// through package tunnel, start a stopped workspace and wait for its startup
// scripts. SSH runs over a stream of the tunnel, so the workspace needs no open
// port.
package remote

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// Commands returns the commands of this package.
func Commands(a *command.Run) []*command.Command {
	return []*command.Command{
		sshCommand(a),
		vscodeSSHCommand(a),
		configSSHCommand(a),
		portForwardCommand(a),
		pingCommand(a),
		speedtestCommand(a),
		netcheckCommand(a),
		openCommand(a),
	}
}

// sshFlags holds the flags of ssh.
type sshFlags struct {
	stdio                       bool
	prefix, suffix              string
	forwardAgent, forwardGPG    bool
	identityAgent, wait, logDir string
	noWait, noStart, forceNew   bool
	remoteForwards, env         []string
	infoDir, usageApp           string
	pollInterval, infoInterval  time.Duration
}

func sshCommand(a *command.Run) *command.Command {
	var o sshFlags
	return &command.Command{
		Name: "ssh", Args: "<workspace> [command]", Min: 1, Max: -1, StopAt: 2, Signals: true,
		Short: "Open a shell or run a command in a workspace",
		Long:  "A stopped workspace is started first. The exit status is that of the command.",
		Examples: []command.Example{
			{Text: "Open a shell", Line: "coder ssh dev"},
			{Text: "Run a command on one of several agents", Line: "coder ssh dev.main ls -la"},
			{Text: "Use your own SSH client", Line: "coder config-ssh && ssh coder.dev"},
		},
		Complete: build.Names(a),
		Options: []*option.Option{
			option.Bool(&o.stdio, "stdio", "Run the SSH protocol over standard input and output, for a ProxyCommand").Env("CODER_SSH_STDIO"),
			option.String(&o.prefix, "ssh-host-prefix", "Prefix to strip from the host name").Env("CODER_SSH_SSH_HOST_PREFIX"),
			option.String(&o.suffix, "hostname-suffix", "Suffix to strip from the host name").Env("CODER_SSH_HOSTNAME_SUFFIX"),
			option.Bool(&o.forwardAgent, "forward-agent", "Forward the local SSH agent to the workspace").Short("A").Env("CODER_SSH_FORWARD_AGENT"),
			option.Bool(&o.forwardGPG, "forward-gpg", "Forward the local GPG agent to the workspace").Short("G").Env("CODER_SSH_FORWARD_GPG"),
			option.String(&o.identityAgent, "identity-agent", "Socket of the SSH agent (default: $SSH_AUTH_SOCK)").Env("CODER_SSH_IDENTITY_AGENT"),
			option.Duration(&o.pollInterval, "workspace-poll-interval", "Interval between status requests while waiting for the workspace").
				Env("CODER_WORKSPACE_POLL_INTERVAL").
				Def("1m"),
			option.Choice(&o.wait, "wait", "Wait for startup scripts; auto follows the template", "yes", "no", "auto").Env("CODER_SSH_WAIT").Def("auto"),
			option.Bool(&o.noWait, "no-wait", "Deprecated: use --wait=no").Env("CODER_SSH_NO_WAIT"),
			option.String(&o.logDir, "log-dir", "Directory for a log file of the connection").Short("l").Env("CODER_SSH_LOG_DIR"),
			option.List(&o.remoteForwards, "remote-forward", "Port of the workspace to forward to this machine, as remote_port:local_host:local_port (repeatable)").
				Short("R").
				Env("CODER_SSH_REMOTE_FORWARD"),
			option.List(&o.env, "env", "Environment variable of the session, as key=value (repeatable)").Short("e").Env("CODER_SSH_ENV"),
			option.String(&o.infoDir, "network-info-dir", "Directory for network information files, for editors"),
			option.Duration(&o.infoInterval, "network-info-interval", "Interval between updates of the network information").Def("5s"),
			option.Bool(&o.noStart, "disable-autostart", "Do not start a stopped workspace").Env("CODER_SSH_DISABLE_AUTOSTART").Def("false"),
			option.String(&o.usageApp, "usage-app", "App that the connection is counted for: vscode, jetbrains, reconnecting-pty, ssh, the name of "+
				"another editor, or disable to count none").Env("CODER_SSH_USAGE_APP").Hide(),
			option.Bool(&o.forceNew, "force-new-tunnel", "Ignored, for compatibility (every connection has its own tunnel)").Env("CODER_SSH_FORCE_NEW_TUNNEL").Hide(),
		},
		Run: func(ctx context.Context, args []string) error { return runSSH(ctx, a, args, &o) },
	}
}

// hostTarget returns the workspace that a host name of the SSH configuration
// names.
func hostTarget(host, prefix, suffix string) string {
	if suffix != "" {
		if rest, ok := strings.CutSuffix(host, "."+strings.TrimPrefix(suffix, ".")); ok {
			if parts := strings.Split(rest, "."); len(parts) == 3 { // agent.workspace.owner
				return parts[2] + "/" + parts[1] + "." + parts[0]
			}
			return rest
		}
	}
	return strings.TrimPrefix(host, prefix)
}

func runSSH(ctx context.Context, a *command.Run, args []string, o *sshFlags) error {
	variables, err := option.Pairs("--env", o.env)
	if err != nil {
		return command.Failure("%s", err)
	}
	forwards, err := parseRemoteForwards(o.remoteForwards)
	if err != nil {
		return err
	}
	if err := o.checkUsageApp(); err != nil {
		return err
	}
	log, closeLog, err := sshLog(a, o)
	if err != nil {
		return err
	}
	defer closeLog() //nolint:errcheck // nothing of it is kept
	if o.noWait {
		o.wait = "no"
	}
	dialing, stop := command.Interruptible(ctx)
	conn, err := connect(dialing, a, hostTarget(args[0], o.prefix, o.suffix),
		connecting{noStart: o.noStart, wait: o.wait, poll: o.pollInterval, log: log, what: o.connectionType()})
	stop()
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the session's error says more
	if o.infoDir != "" {
		informing, done := context.WithCancel(ctx)
		defer done()
		go writeNetworkInfo(informing, a, conn, o)
	}
	stream, err := conn.Open(ctx, tunnel.KindSSH, o.streamArgument())
	if err != nil {
		return err
	}
	if o.stdio {
		return pipe(ctx, a, stream)
	}
	client, err := sshClient(stream, conn)
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // the session's error says more
	if o.forwardGPG {
		if err := forwardGPG(ctx, client, a.Environ(), a.Stderr); err != nil {
			return err
		}
	}
	return runSession(ctx, a, conn, client, sessionRequest{
		command: strings.Join(args[1:], " "), variables: variables, forwards: forwards,
		forwardAgent: o.forwardAgent, agentSocket: o.agentSocket(a),
	})
}

// checkUsageApp replaces --usage-app by the app name that the server knows.
func (o *sshFlags) checkUsageApp() error {
	if o.usageApp == "" {
		return nil
	}
	known, ok := codersdk.ParseUsageApp(o.usageApp)
	if !ok {
		return command.Failure("--usage-app: %.70q is not the name of an editor; use vscode, jetbrains, reconnecting-pty, ssh or disable", o.usageApp)
	}
	o.usageApp = string(known)
	return nil
}

// streamArgument returns the argument of an SSH stream. The agent reads from it
// whether to delay the login and which app to count.
func (o *sshFlags) streamArgument() string {
	var words []string
	if o.wait == "no" {
		words = append(words, "no-wait")
	}
	if o.usageApp != "" {
		words = append(words, "app="+o.usageApp)
	}
	return strings.Join(words, " ")
}

// connectionType returns the type in the connection log. It follows
// --usage-app, or else the editor that is detected by its host name prefix or
// by --network-info-dir.
func (o *sshFlags) connectionType() codersdk.ConnectionType {
	switch {
	case o.usageApp != "":
		return codersdk.UsageApp(o.usageApp).ConnectionType()
	case strings.Contains(o.prefix, "jetbrains"):
		return codersdk.ConnectionTypeJetBrains
	case strings.Contains(o.prefix, "vscode"), o.infoDir != "":
		return codersdk.ConnectionTypeVSCode
	}
	return codersdk.ConnectionTypeSSH
}

func (o *sshFlags) agentSocket(a *command.Run) string {
	if o.identityAgent != "" {
		return o.identityAgent
	}
	return a.Env["SSH_AUTH_SOCK"]
}

// sshClient starts an SSH connection over a stream. The tunnel has already
// authenticated the agent; the host key from the server is checked in addition.
func sshClient(stream net.Conn, conn *connection) (*ssh.Client, error) {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(conn.Grant().SSHHostKey))
	if err != nil {
		return nil, command.Failure("the server returned an invalid host key for the workspace: %s", err)
	}
	c, channels, requests, err := ssh.NewClientConn(stream, conn.workspace.Name, &ssh.ClientConfig{
		User:            "coder",
		HostKeyCallback: ssh.FixedHostKey(key),
		Config:          ssh.Config{Ciphers: []string{ssh.CipherAES128GCM, ssh.CipherAES256GCM, ssh.CipherChaCha20Poly1305}},
	})
	if err != nil {
		return nil, conn.lost(err)
	}
	return ssh.NewClient(c, channels, requests), nil
}

// input returns standard input, starting with the bytes that a prompt has
// buffered.
func input(a *command.Run) io.Reader {
	if a.Lines.Buffered() > 0 {
		return a.Lines
	}
	return a.Stdin
}

// halfCloser is a stream whose write side can be closed separately.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// pipe copies bytes between a stream and standard input and output, until the
// remote side closes or a signal arrives. OpenSSH sends SIGHUP to its
// ProxyCommand when the session has ended. That is not an error. If it ended the
// process, the agent would not be notified and would keep the session.
func pipe(ctx context.Context, a *command.Run, stream halfCloser) error {
	ctx, stop := command.Interruptible(ctx)
	defer stop()
	open, stopHangup := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stopHangup()
	defer context.AfterFunc(open, func() { stream.Close() })()
	in, out := input(a), a.Raw
	if f, ok := in.(*os.File); ok {
		in = reopenPipe(f, os.O_RDONLY)
	}
	if f, ok := out.(*os.File); ok {
		out = reopenPipe(f, os.O_WRONLY)
	}
	go func() {
		io.Copy(stream, in) //nolint:errcheck // the reading end reports a lost connection
		stream.CloseWrite() //nolint:errcheck // likewise
	}()
	_, err := io.Copy(out, stream)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case open.Err() != nil: // SIGHUP
		return nil
	case errors.Is(err, syscall.EPIPE): // the reader has exited
		return nil
	}
	return err
}

// sshLog opens a log file for this connection. The name contains the ID of the
// parent ssh process, by which editors find the file. --verbose logs more.
func sshLog(a *command.Run, o *sshFlags) (*slog.Logger, func() error, error) {
	if o.logDir == "" {
		return nil, func() error { return nil }, nil
	}
	if err := os.MkdirAll(o.logDir, 0o700); err != nil {
		return nil, nil, err
	}
	pid := os.Getpid()
	if o.stdio {
		pid = os.Getppid()
	}
	name := "coder-ssh-" + a.Now().UTC().Format("20060102T150405Z") + "-" + strconv.Itoa(pid) + ".log"
	f, err := os.OpenFile(filepath.Join(o.logDir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	level := slog.LevelInfo
	if a.Verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: level}))
	log.Info("connecting", "version", codersdk.Version(), "pid", os.Getpid(), "usage_app", o.usageApp)
	return log, f.Close, nil
}
