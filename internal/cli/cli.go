// Package cli is the command line: one file per command or family of commands.
//
// A command is a value of type command: its words in the help, its options and
// a function. An option is declared once, with flag, environment variable,
// YAML key and default in one line, and bound to the variable that the command
// reads; a flag wins over the environment, the environment over the file, the
// file over the default. The parser below (urfave/cli) sees both through a
// thin adapter; help, completion and errors are rendered from the same values,
// so that they cannot disagree, and a test holds them to the contract.
//
// Commands talk to the server through package client alone, reach workspaces
// through package tunnel, and start the processes server, provisionerd and
// agent. What a command prints goes through output.go (tables and JSON),
// progress.go (spinners and build logs) and prompt.go (questions); all three
// behave plainly when there is no terminal. A failure is one line on standard
// error and a non-zero exit status.
package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// app is one run of the program: its streams, environment and global options.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	env    map[string]string
	now    func() time.Time
	lines  *bufio.Reader // of stdin, kept so that prompts share what was read ahead

	url              *url.URL
	token            string
	configDir        string
	headers          []string
	headerCommand    string
	noVersionWarning bool
	forceTTY         bool
	verbose          bool
	disableDirect    bool
	showOptions      bool
	transport        http.RoundTripper // nil: the default
	root             *command
}

// exitStatus is a failure that was already explained, such as that of a
// remote command: only the status is left to give.
type exitStatus int

// Error gives the status.
func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Main runs the command that args name, the program's name first, and gives
// the exit status. environ is a list of key=value as os.Environ gives it.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) int {
	a := newApp(stdin, stdout, stderr, environ)
	if len(args) > 1 && args[len(args)-1] == completionFlag {
		a.suggest(ctx, args[1:len(args)-1])
		return 0
	}
	err := a.build(a.root).Run(ctx, args)
	if err == nil {
		return 0
	}
	var status exitStatus
	if errors.As(err, &status) {
		return int(status)
	}
	a.explain(err)
	if errors.Is(err, context.Canceled) {
		return 130
	}
	return 1
}

func newApp(stdin io.Reader, stdout, stderr io.Writer, environ []string) *app {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, env: map[string]string{}, now: time.Now}
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok {
			a.env[k] = v
		}
	}
	a.lines = bufio.NewReader(stdin)
	a.root = a.rootCommand().adopt()
	return a
}

func (a *app) rootCommand() *command {
	return &command{
		name: "coder", args: "[global-flags] <subcommand>", rawUsage: true,
		short: "Remote development environments on your own infrastructure.",
		long: "One program for everybody: it runs the control plane, provisions workspaces, serves " +
			"inside of them, and is the command line with which you reach them.",
		examples: []example{
			{"Start a control plane with its own PostgreSQL", "coder server"},
			{"Sign in", "coder login http://127.0.0.1:3000"},
			{"Make a template from a starter and upload it", "coder templates init --id docker ./docker && coder templates push -d ./docker"},
			{"Make a workspace and open a shell in it", "coder create --template docker dev && coder ssh dev"},
		},
		options: a.globalOptions(),
		subs: []*command{
			a.loginCommand(), a.logoutCommand(), a.whoamiCommand(), a.versionCommand(), a.completionCommand(),
			a.usersCommand(), a.tokensCommand(), a.organizationsCommand(),
			a.templatesCommand(),
			a.createCommand(), a.startCommand(), a.stopCommand(), a.restartCommand(), a.updateCommand(),
			a.deleteCommand(), a.renameCommand(), a.listCommand(), a.showCommand(),
			a.favoriteCommand(), a.unfavoriteCommand(), a.autoupdateCommand(),
			a.scheduleCommand(), a.stateCommand(), a.logsCommand(), a.publickeyCommand(),
			a.sshCommand(), a.configSSHCommand(), a.portForwardCommand(), a.pingCommand(),
			a.serverCommand(), a.resetPasswordCommand(), a.provisionerCommand(), a.provisionerdCommand(), a.agentCommand(), a.gitsshCommand(),
		},
	}
}

func (a *app) globalOptions() []*option.Option {
	var ignored bool
	keyring := true
	return []*option.Option{
		option.URL(&a.url, "url", "URL of the server.").Env("CODER_URL"),
		option.Bool(&a.showOptions, "debug-options", "Print every option and where its value came from, then exit.").Hide(),
		option.String(&a.token, "token", "Token to sign in with, instead of the stored session.").Env("CODER_SESSION_TOKEN"),
		option.Bool(&a.noVersionWarning, "no-version-warning", "Do not warn when this program and the server differ in version.").Env("CODER_NO_VERSION_WARNING"),
		option.Bool(&ignored, "no-feature-warning", "Accepted and without effect: every feature is free.").Env("CODER_NO_FEATURE_WARNING"),
		option.List(&a.headers, "header", "Header to send with every request, as key=value. May be repeated.").Env("CODER_HEADER"),
		option.String(&a.headerCommand, "header-command", "Shell command that prints further headers, one key=value per line.").Env("CODER_HEADER_COMMAND"),
		option.Bool(&a.forceTTY, "force-tty", "Behave as on a terminal even when there is none.").Env("CODER_FORCE_TTY"),
		option.Bool(&a.verbose, "verbose", "Say more, above all about failures.").Short("v").Env("CODER_VERBOSE"),
		option.Bool(&a.disableDirect, "disable-direct-connections", "Reach workspaces through the server's relay only.").Env("CODER_DISABLE_DIRECT_CONNECTIONS"),
		option.Bool(&ignored, "disable-network-telemetry", "Accepted and without effect: nothing is reported.").Env("CODER_DISABLE_NETWORK_TELEMETRY"),
		option.Bool(&keyring, "use-keyring", "Accepted; the session is always kept in a file that only you can read.").Env("CODER_USE_KEYRING").Def("true"),
		option.Path(&a.configDir, a.home(), "global-config", "Directory of the stored URL and session.").Env("CODER_CONFIG_DIR").Def("~/.config/coderv2"),
	}
}

// home is the user's home directory.
func (a *app) home() string {
	for _, k := range []string{"HOME", "USERPROFILE"} {
		if h := a.env[k]; h != "" {
			return h
		}
	}
	h, err := os.UserHomeDir()
	if err != nil {
		return "."
	}
	return h
}

// interruptible gives a context that ends at SIGINT or SIGTERM.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// environ is the environment as it came in.
func (a *app) environ() []string {
	out := make([]string, 0, len(a.env))
	for k, v := range a.env {
		out = append(out, k+"="+v)
	}
	return out
}
