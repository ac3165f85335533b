// Package remote is the family of commands that reach into a workspace: ssh,
// config-ssh, port-forward and ping. All of them dial the agent through package
// tunnel, start a stopped workspace on the way and wait for its scripts; SSH is
// then spoken over a stream of the tunnel, so that no port of the workspace is
// open to anybody.
package remote

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// Commands are the commands of this family.
func Commands(a *app.Run) []*app.Command {
	return []*app.Command{sshCommand(a), configSSHCommand(a), portForwardCommand(a), pingCommand(a), speedtestCommand(a), netcheckCommand(a), openCommand(a)}
}

// sshFlags are the flags of ssh.
type sshFlags struct {
	stdio                       bool
	prefix, suffix              string
	forwardAgent, forwardGPG    bool
	identityAgent, wait, logDir string
	noWait, noStart             bool
	remoteForwards, env         []string
	infoDir                     string
	pollInterval, infoInterval  time.Duration
}

func sshCommand(a *app.Run) *app.Command {
	var o sshFlags
	return &app.Command{
		Name: "ssh", Args: "<workspace> [command]", Min: 1, Max: -1, StopAt: 2, Signals: true,
		Short: "Open a shell in a workspace, or run a command there.",
		Long:  "The workspace is started first when it is stopped. The exit status is that of the command.",
		Examples: []app.Example{
			{Text: "A shell", Line: "coder ssh dev"},
			{Text: "One command in one of several agents", Line: "coder ssh dev.main ls -la"},
			{Text: "With your own SSH client", Line: "coder config-ssh && ssh coder.dev"},
		},
		Complete: build.Names(a),
		Options: []*option.Option{
			option.Bool(&o.stdio, "stdio", "Carry the SSH protocol over standard input and output, for a ProxyCommand.").Env("CODER_SSH_STDIO"),
			option.String(&o.prefix, "ssh-host-prefix", "First part of the host name, to be taken away.").Env("CODER_SSH_SSH_HOST_PREFIX"),
			option.String(&o.suffix, "hostname-suffix", "Last part of the host name, to be taken away.").Env("CODER_SSH_HOSTNAME_SUFFIX"),
			option.Bool(&o.forwardAgent, "forward-agent", "Let the workspace use the keys of your SSH agent.").Short("A").Env("CODER_SSH_FORWARD_AGENT"),
			option.Bool(&o.forwardGPG, "forward-gpg", "Let the workspace sign and decrypt with your GPG agent.").Short("G").Env("CODER_SSH_FORWARD_GPG"),
			option.String(&o.identityAgent, "identity-agent", "Socket of the SSH agent; $SSH_AUTH_SOCK otherwise.").Env("CODER_SSH_IDENTITY_AGENT"),
			option.Duration(&o.pollInterval, "workspace-poll-interval", "How often the workspace is asked about while it is waited for.").Env("CODER_WORKSPACE_POLL_INTERVAL").Def("1m"),
			option.Choice(&o.wait, "wait", "Whether to wait for the start scripts; auto does as the template says.", "yes", "no", "auto").Env("CODER_SSH_WAIT").Def("auto"),
			option.Bool(&o.noWait, "no-wait", "Older form of --wait=no.").Env("CODER_SSH_NO_WAIT"),
			option.String(&o.logDir, "log-dir", "Directory for a log of the connection.").Short("l").Env("CODER_SSH_LOG_DIR"),
			option.List(&o.remoteForwards, "remote-forward", "Bring a port of the workspace here, as remote_port:local_host:local_port. May be repeated.").Short("R").Env("CODER_SSH_REMOTE_FORWARD"),
			option.List(&o.env, "env", "Environment variable for the session, as key=value. May be repeated.").Short("e").Env("CODER_SSH_ENV"),
			option.String(&o.infoDir, "network-info-dir", "Directory to write facts of the connection to, for editors."),
			option.Duration(&o.infoInterval, "network-info-interval", "How often they are written.").Def("5s"),
			option.Bool(&o.noStart, "disable-autostart", "Do not start a stopped workspace.").Env("CODER_SSH_DISABLE_AUTOSTART").Def("false"),
		},
		Run: func(ctx context.Context, args []string) error { return runSSH(ctx, a, args, &o) },
	}
}

// hostTarget gives the workspace of a host name of an SSH configuration.
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

func runSSH(ctx context.Context, a *app.Run, args []string, o *sshFlags) error {
	variables, err := option.Pairs("--env", o.env)
	if err != nil {
		return app.Failure("%s", err)
	}
	forwards, err := parseRemoteForwards(o.remoteForwards)
	if err != nil {
		return err
	}
	log, closeLog, err := sshLog(o.logDir, a.Now())
	if err != nil {
		return err
	}
	defer closeLog() //nolint:errcheck // nothing of it is kept
	if o.noWait {
		o.wait = "no"
	}
	dialing, stop := app.Interruptible(ctx)
	conn, err := connect(dialing, a, hostTarget(args[0], o.prefix, o.suffix),
		connecting{noStart: o.noStart, wait: o.wait, poll: o.pollInterval, log: log, what: o.editor()})
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
	hurry := "" // the agent holds logins too
	if o.wait == "no" {
		hurry = "no-wait"
	}
	stream, err := conn.Open(ctx, "ssh", hurry)
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

// editor is whose connection it is, by what editors call us with: their own
// prefix of host names, or a directory for facts of the connection.
func (o *sshFlags) editor() coder.ConnectionType {
	switch {
	case strings.Contains(o.prefix, "jetbrains"):
		return coder.ConnectionTypeJetBrains
	case strings.Contains(o.prefix, "vscode"), o.infoDir != "":
		return coder.ConnectionTypeVSCode
	}
	return coder.ConnectionTypeSSH
}

func (o *sshFlags) agentSocket(a *app.Run) string {
	if o.identityAgent != "" {
		return o.identityAgent
	}
	return a.Env["SSH_AUTH_SOCK"]
}

// sshClient speaks SSH over a stream. The tunnel has proven who the other end
// is; the host key that the server named is checked all the same.
func sshClient(stream net.Conn, conn *connection) (*ssh.Client, error) {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(conn.Grant().SSHHostKey))
	if err != nil {
		return nil, app.Failure("the server gave no host key for the workspace: %s", err)
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

// input is standard input with what a prompt read ahead.
func input(a *app.Run) io.Reader {
	if a.Lines.Buffered() > 0 {
		return a.Lines
	}
	return a.Stdin
}

// halfCloser is a stream whose writing end can be closed alone.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// pipe carries bytes between a stream and standard input and output, until
// the other end closes or a signal comes.
func pipe(ctx context.Context, a *app.Run, stream halfCloser) error {
	ctx, stop := app.Interruptible(ctx)
	defer stop()
	defer context.AfterFunc(ctx, func() { stream.Close() })()
	in, out := input(a), a.Stdout
	if f, ok := in.(*os.File); ok {
		in = swiftPipe(f, os.O_RDONLY)
	}
	if f, ok := out.(*os.File); ok {
		out = swiftPipe(f, os.O_WRONLY)
	}
	go func() {
		io.Copy(stream, in) //nolint:errcheck // the reading end tells of a lost connection
		stream.CloseWrite() //nolint:errcheck // likewise
	}()
	_, err := io.Copy(out, stream)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, syscall.EPIPE): // who reads has left
		return nil
	}
	return err
}

// sshLog opens a log file of its own for this connection.
func sshLog(dir string, now time.Time) (*slog.Logger, func() error, error) {
	if dir == "" {
		return nil, func() error { return nil }, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	name := "coder-ssh-" + now.UTC().Format("20060102T150405Z") + "-" + strconv.Itoa(os.Getpid()) + ".log"
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	return slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelDebug})), f.Close, nil
}
