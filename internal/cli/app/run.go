package app

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

// Run is one run of the program: its streams, environment and global options.
type Run struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Env    map[string]string
	Now    func() time.Time
	Lines  *bufio.Reader // of Stdin; all that read text share it and what it read ahead
	Root   *Command      // of the tree of commands

	URL              *url.URL // --url; Server says which it is without
	Token            string   // --token; empty: the stored session
	ConfigDir        string   // of the stored URL and session
	Headers          []string // key=value, sent with every request
	HeaderCommand    string   // shell command that prints more of them
	Verbose          bool
	noVersionWarning bool
	forceTTY         bool
	DisableDirect    bool // tunnels go through the relay only
	showOptions      bool
	transport        http.RoundTripper // nil: the default
}

// ExitStatus is a failure that was already explained, such as that of a
// remote command: only the status is left to give.
type ExitStatus int

// Error gives the status.
func (e ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// New makes a run with the tree of commands that tree makes; its root takes
// the global options too.
func New(stdin io.Reader, stdout, stderr io.Writer, environ []string, tree func(*Run) *Command) *Run {
	a := &Run{Stdin: stdin, Stdout: stdout, Stderr: stderr, Env: map[string]string{}, Now: time.Now}
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok {
			a.Env[k] = v
		}
	}
	a.Lines = bufio.NewReader(stdin)
	a.Root = tree(a)
	a.Root.Options = append(a.Root.Options, a.globalOptions()...)
	a.Root.adopt()
	return a
}

func (a *Run) globalOptions() []*option.Option {
	var ignored bool
	keyring := true
	return []*option.Option{
		option.URL(&a.URL, "url", "URL of the server.").Env("CODER_URL"),
		option.Bool(&a.showOptions, "debug-options", "Print every option and where its value came from, then exit.").Hide(),
		option.String(&a.Token, "token", "Token to sign in with, instead of the stored session.").Env("CODER_SESSION_TOKEN"),
		option.Bool(&a.noVersionWarning, "no-version-warning", "Do not warn when this program and the server differ in version.").Env("CODER_NO_VERSION_WARNING"),
		option.Bool(&ignored, "no-feature-warning", "Accepted and without effect: every feature is free.").Env("CODER_NO_FEATURE_WARNING"),
		option.List(&a.Headers, "header", "Header to send with every request, as key=value. May be repeated.").Env("CODER_HEADER"),
		option.String(&a.HeaderCommand, "header-command", "Shell command that prints further headers, one key=value per line.").Env("CODER_HEADER_COMMAND"),
		option.Bool(&a.forceTTY, "force-tty", "Behave as on a terminal even when there is none.").Env("CODER_FORCE_TTY"),
		option.Bool(&a.Verbose, "verbose", "Say more, above all about failures.").Short("v").Env("CODER_VERBOSE"),
		option.Bool(&a.DisableDirect, "disable-direct-connections", "Reach workspaces through the server's relay only.").Env("CODER_DISABLE_DIRECT_CONNECTIONS"),
		option.Bool(&ignored, "disable-network-telemetry", "Accepted and without effect: nothing is reported.").Env("CODER_DISABLE_NETWORK_TELEMETRY"),
		option.Bool(&keyring, "use-keyring", "Accepted; the session is always kept in a file that only you can read.").Env("CODER_USE_KEYRING").Def("true"),
		option.Path(&a.ConfigDir, a.Home(), "global-config", "Directory of the stored URL and session.").Env("CODER_CONFIG_DIR").Def("~/.config/coderv2"),
	}
}

// Home is the user's home directory.
func (a *Run) Home() string {
	for _, k := range []string{"HOME", "USERPROFILE"} {
		if h := a.Env[k]; h != "" {
			return h
		}
	}
	h, err := os.UserHomeDir()
	if err != nil {
		return "."
	}
	return h
}

// Interruptible gives a context that ends at SIGINT or SIGTERM.
func Interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// Environ is the environment as it came in.
func (a *Run) Environ() []string {
	out := make([]string, 0, len(a.Env))
	for k, v := range a.Env {
		out = append(out, k+"="+v)
	}
	return out
}

// Main runs the command that args name, the program's name first, in the tree
// of commands that tree makes, and gives the exit status. environ is a list of
// key=value as os.Environ gives it.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string, tree func(*Run) *Command) int {
	a := New(stdin, stdout, stderr, environ, tree)
	if len(args) > 1 && args[len(args)-1] == completionFlag {
		a.suggest(ctx, args[1:len(args)-1])
		return 0
	}
	err := a.build(a.Root).Run(ctx, args)
	if err == nil {
		return 0
	}
	var status ExitStatus
	if errors.As(err, &status) {
		return int(status)
	}
	a.Explain(err)
	if errors.Is(err, context.Canceled) {
		return 130
	}
	return 1
}
