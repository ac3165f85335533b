package command

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

	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Run is one run of the program: its streams, environment and global options.
type Run struct {
	Stdin  io.Reader
	Stdout io.Writer // text and colors only, see terminal.Filter
	Stderr io.Writer
	Raw    io.Writer // unfiltered standard output, for files, child processes and remote terminals
	RawErr io.Writer // unfiltered standard error, likewise
	Env    map[string]string
	Now    func() time.Time
	Lines  *bufio.Reader // buffered Stdin, shared by everything that reads lines
	Root   *Command      // root of the command tree

	URL              *url.URL // --url; Server returns the effective URL
	Token            string   // --token; "" means the stored session
	ConfigDir        string   // directory of the stored URL and session
	Headers          []string // key=value, sent with every request
	HeaderCommand    string   // shell command that prints more headers
	Verbose          bool
	noVersionWarning bool
	forceTTY         bool
	DisableDirect    bool // use the relay only
	showOptions      bool
	transport        http.RoundTripper // nil means the default
	allowRedirects   bool
	// Keyring stores sessions in the operating system's credential store. It is
	// nil on systems without one; sessions are then stored in a file.
	Keyring    Keyring
	useKeyring bool
	configDir  *option.Option // --global-config
}

// ExitStatus is an error that was already reported, such as that of a remote
// command. Only the status remains to be returned.
type ExitStatus int

// Error returns the status as text.
func (e ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Streams are the standard streams of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// New returns a run whose command tree is built by tree. The root gets the
// global options.
func New(streams Streams, environ []string, tree func(*Run) *Command) *Run {
	a := &Run{
		Stdin: streams.In, Stdout: terminal.NewFilter(streams.Out), Stderr: terminal.NewRedrawFilter(streams.Err),
		Raw: streams.Out, RawErr: streams.Err, Env: map[string]string{}, Now: time.Now,
	}
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok {
			a.Env[k] = v
		}
	}
	a.Lines = bufio.NewReader(streams.In)
	a.Root = tree(a)
	a.Root.Options = append(a.Root.Options, a.globalOptions()...)
	a.Root.setParents()
	return a
}

func (a *Run) globalOptions() []*option.Option {
	var ignored bool
	a.configDir = option.Path(&a.ConfigDir, a.Home(), "global-config", "Directory of the stored URL and session").Env("CODER_CONFIG_DIR").Def("~/.config/coderv2")
	return []*option.Option{
		option.ParsedURL(&a.URL, ParseServer, "url", "URL of the server").Env("CODER_URL"),
		option.Bool(&a.showOptions, "debug-options", "Print every option with its origin, then exit").Hide(),
		option.String(&a.Token, "token", "Session token, overrides the stored session").Env("CODER_SESSION_TOKEN"),
		option.Bool(&a.noVersionWarning, "no-version-warning", "Suppress the warning when client and server versions differ").Env("CODER_NO_VERSION_WARNING"),
		option.Bool(&ignored, "no-feature-warning", "Ignored, for compatibility").Env("CODER_NO_FEATURE_WARNING"),
		option.List(&a.Headers, "header", "HTTP header for every request, as key=value (repeatable)").Env("CODER_HEADER"),
		option.String(&a.HeaderCommand, "header-command", "Shell command that prints additional HTTP headers, one key=value per line").Env("CODER_HEADER_COMMAND"),
		option.Bool(&a.forceTTY, "force-tty", "Treat standard input and output as a terminal").Env("CODER_FORCE_TTY"),
		option.Bool(&a.Verbose, "verbose", "Enable verbose output").Short("v").Env("CODER_VERBOSE"),
		option.Bool(&a.DisableDirect, "disable-direct-connections", "Connect to workspaces through the server's relay only").Env("CODER_DISABLE_DIRECT_CONNECTIONS"),
		option.Bool(&ignored, "disable-network-telemetry", "Ignored, for compatibility (no telemetry is sent)").Env("CODER_DISABLE_NETWORK_TELEMETRY"),
		option.Bool(&a.useKeyring, "use-keyring", "Store the session in the operating system's keyring on macOS and Windows, unless --global-config is "+
			"given. On Linux, or when the keyring is unavailable, the session is stored in a file that only you "+
			"can read").Env("CODER_USE_KEYRING").Def("true"),
		option.Bool(&a.allowRedirects, "allow-redirects", "Follow redirects to other hosts, which then receive your session").Env("CODER_ALLOW_REDIRECTS").Hide(),
		a.configDir,
	}
}

// Home returns the user's home directory.
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

// Interruptible returns a context that is canceled by SIGINT or SIGTERM.
func Interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// Environ returns the environment as New received it.
func (a *Run) Environ() []string {
	out := make([]string, 0, len(a.Env))
	for k, v := range a.Env {
		out = append(out, k+"="+v)
	}
	return out
}

// Main runs the command that args names and returns the exit status. args
// starts with the program name. tree builds the command tree. environ is a list
// of key=value, like that of os.Environ.
func Main(ctx context.Context, args []string, streams Streams, environ []string, tree func(*Run) *Command) int {
	a := New(streams, environ, tree)
	if len(args) > 1 && args[len(args)-1] == completionFlag {
		a.suggest(ctx, args[1:len(args)-1])
		return 0
	}
	err := a.Root.checkNames(args[min(1, len(args)):])
	if err == nil {
		err = a.build(a.Root).Run(ctx, args)
	}
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
