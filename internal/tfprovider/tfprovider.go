// Package tfprovider serves the coder/coder Terraform provider from this
// executable, so that builds never download it.
//
// The executable becomes the provider by the name under which it is started.
// When Terraform starts it, from a mirror or a development override, it
// performs the usual plug-in handshake. When the terraform engine starts it
// with the argument "session", it serves a whole job: Terraform attaches to it
// (TF_REATTACH_PROVIDERS), which saves starting and hashing a large binary in
// every command. The engine sends lines of JSON on the standard streams; see
// Command and Answer.
//
// The provider reads the workspace's values from its environment, so one
// process serves one job, and the engine replaces the values between runs.
//
// A session process leads the process group of Terraform and its children. If
// its standard input ends without a quit command, the engine has died, and the
// whole group is killed: nothing of a build outlives its daemon.
package tfprovider

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/tfprovider/placeholder"

	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-sdk/v2/plugin"
)

// How Terraform finds and starts a provider.
const (
	// Name is the argv[0] with which the executable serves the provider.
	Name = "terraform-provider-coder"
	// Address is the provider's address in the public registry.
	Address = "registry.terraform.io/coder/coder"
	// CookieKey and CookieValue are the environment variable with which
	// Terraform shows that it, not a user, starts the plug-in.
	CookieKey   = "TF_PLUGIN_MAGIC_COOKIE"
	CookieValue = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2"
	// SessionArgument as the first argument requests the session mode.
	SessionArgument = "session"
)

// Command is one line to a session process.
type Command struct {
	// Env replaces all CODER_* variables that the provider sees.
	Env map[string]string `json:"env,omitempty"`
	// Quit ends the process and leaves the rest of its group alone.
	Quit bool `json:"quit,omitempty"`
}

// Answer is one line from a session process: one at the start, with Reattach,
// and one after each Command with Env.
type Answer struct {
	Reattach *Reattach `json:"reattach,omitempty"`
	Error    string    `json:"error,omitempty"`
}

// Reattach is an entry of TF_REATTACH_PROVIDERS.
type Reattach struct {
	Protocol        string
	ProtocolVersion int
	Pid             int
	Test            bool
	Addr            ReattachAddr
}

// ReattachAddr is the address of a running provider.
type ReattachAddr struct{ Network, String string }

// Requested reports whether the process was started as the provider.
func Requested(args []string, getenv func(string) string) bool {
	return len(args) > 0 &&
		strings.HasPrefix(filepath.Base(args[0]), "terraform-provider-") &&
		getenv(CookieKey) != ""
}

// Serve runs the provider until it is stopped. args are the command-line
// arguments. It returns the exit status.
func Serve(args []string) int {
	if len(args) > 0 && args[0] == SessionArgument {
		if err := serveSession(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "coder provider:", err)
			return 1
		}
		return 0
	}
	plugin.Serve(&plugin.ServeOpts{ProviderAddr: Address, ProviderFunc: placeholder.New})
	return 0
}

// serveSession handles commands until quit. If in ends early and the process
// leads its group, it does not return: it dies with the group.
func serveSession(in io.Reader, out io.Writer) error {
	ignoreInterrupts()
	quiet()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	reattach, closed := make(chan *goplugin.ReattachConfig, 1), make(chan struct{})
	go plugin.Serve(&plugin.ServeOpts{
		ProviderAddr: Address,
		ProviderFunc: placeholder.New,
		TestConfig:   &goplugin.ServeTestConfig{Context: ctx, ReattachConfigCh: reattach, CloseCh: closed},
	})
	answers := json.NewEncoder(out)
	select {
	case c := <-reattach:
		if err := answers.Encode(Answer{Reattach: reattachOf(c)}); err != nil {
			return err
		}
	case <-closed:
		return fmt.Errorf("the provider did not start")
	}
	lines := json.NewDecoder(bufio.NewReader(in))
	for {
		var c Command
		if err := lines.Decode(&c); err != nil {
			killGroup()
			return fmt.Errorf("the engine is gone: %w", err)
		}
		if c.Quit {
			return nil
		}
		if err := answers.Encode(Answer{Error: replaceEnv(c.Env)}); err != nil {
			return err
		}
	}
}

// quiet disables the plug-in SDK's tracing, which is several lines per call.
func quiet() {
	for _, name := range []string{"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_HELPER_SCHEMA", "TF_LOG_SDK_FRAMEWORK", "TF_LOG_PROVIDER",
		"TF_LOG_PROVIDER_CODER"} {
		os.Setenv(name, "off")
	}
}

func reattachOf(c *goplugin.ReattachConfig) *Reattach {
	return &Reattach{
		Protocol:        string(c.Protocol),
		ProtocolVersion: c.ProtocolVersion,
		Pid:             c.Pid,
		Test:            c.Test,
		Addr:            ReattachAddr{Network: c.Addr.Network(), String: c.Addr.String()},
	}
}

// replaceEnv makes env the only CODER_* variables of the process and returns an
// error text, or "".
func replaceEnv(env map[string]string) string {
	for _, kv := range os.Environ() {
		if name, _, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(name, "CODER_") {
			os.Unsetenv(name)
		}
	}
	for k, v := range env {
		if err := os.Setenv(k, v); err != nil {
			return fmt.Sprintf("the value of %s cannot be set: %v", k, err)
		}
	}
	return ""
}
