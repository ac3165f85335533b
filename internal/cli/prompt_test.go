//go:build unix

package cli

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// converse runs a command on a terminal. script has lines "what the command writes => what
// the user types then", in their order; the first part may be -, and the second may be
// missing. It returns the exit status.
func (h *house) converse(env []string, command, script string) int {
	h.t.Helper()
	master, tty, err := pty.Open()
	h.must(err)
	defer master.Close() //nolint:errcheck // the test's own
	h.must(pty.Setsize(master, &pty.Winsize{Rows: 40, Cols: 200}))
	var written background
	go func() { _, _ = io.Copy(&written, master) }()
	said := func() string { return terminal.Clean(written.said()) }
	defer func() {
		if h.t.Failed() {
			h.t.Logf("coder %s wrote\n%s", command, said())
		}
	}()
	done := make(chan int, 1)
	go func() {
		done <- Main(h.t.Context(), append([]string{"coder"}, strings.Fields(command)...), tty, tty, tty, env)
	}()
	read := 0 // up to there, prompts are answered
	for line := range strings.Lines(script) {
		prompt, answer, typed := strings.Cut(strings.TrimSpace(line), " => ")
		if prompt == "" {
			continue
		}
		if prompt == "-" {
			prompt = ""
		}
		testwait.Until(h.t, fmt.Sprintf("coder %s writes %q", command, prompt), func() bool { return strings.Contains(said()[read:], prompt) })
		read += strings.Index(said()[read:], prompt) + len(prompt)
		if typed {
			_, err := master.WriteString(answer + "\r")
			h.must(err)
		}
	}
	return testwait.Receive(h.t, "the end of coder "+command, done)
}

// terminalEnv is env without the variable that turns animations off.
func (h *house) terminalEnv() []string {
	var out []string
	for _, v := range h.env() {
		if !strings.HasPrefix(v, "CI=") {
			out = append(out, v)
		}
	}
	return append(out, "TERM=xterm-256color")
}

// TestPrompts answers the prompts of commands on a terminal.
func TestPrompts(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.template("sized", sized)
	url := h.AccessURL().String()
	for _, c := range []struct {
		command, script string
		fails           bool
	}{
		{command: "create", script: `
			Workspace name => prompted
			Which template? => sized
			Which preset? => none
			Region => eu
			Number or name => Four
			Create workspace prompted => yes
			Created workspace prompted`},
		{command: "create second --template sized", script: `
			Number or name => 9
			is not one of the choices
			Number or name => large
			Region => us
			Create workspace second => no
			nothing was changed`, fails: true},
		{command: "users create", script: `
			Name => ann
			Email address => not an address
			Email address => ann@example.com
			Created user ann`},
		{command: "users edit-roles ann", script: `
			Roles, any of => king
			not found
			Roles, any of => auditor
			(yes/no) => maybe
			(yes/no) => yes
			User ann has the roles [auditor].`},
		{command: "organizations roles create deployer", script: `
			Display name => Deployer
			Permissions on everything => template:read
			Permissions on what members own => workspace:read
			Create role deployer => yes
			Created role deployer`},
		{command: "stop prompted", script: `
			Stop workspace prompted? => yes
			Stopped workspace prompted`},
		{command: "delete prompted", script: `
			(yes/no) => yes
			Deleted workspace prompted`},
		{command: "templates init " + t.TempDir() + "/starter", script: `
			Which starter template? => local
			Created starter template local`},
		{command: "server create-admin-user --postgres-url " + h.PostgresURL, script: `
			Name => root
			Email address => root@example.com
			New password => one
			Repeat the password => another
			do not match
			New password => SomeLongPassw0rd!
			Repeat the password => SomeLongPassw0rd!
			root`},
		{command: "templates delete sized", script: `
			Delete template sized? => no
			nothing was changed`, fails: true},
	} {
		if status := h.converse(h.terminalEnv(), c.command, c.script); (status != 0) != c.fails {
			t.Errorf("coder %s: status %d", c.command, status)
		}
	}
	fresh := []string{"HOME=" + t.TempDir(), "CODER_USE_KEYRING=false", "NO_COLOR=1", "TERM=xterm-256color"}
	if status := h.converse(fresh, "login "+url, `
		Email address => admin@example.com
		Password => `+servertest.Password+`
		Signed in to `+url+` as admin.`); status != 0 {
		t.Errorf("sign in: status %d", status)
	}
	if status := h.converse(fresh, "logout", `
		Sign out of => yes
		Signed out.`); status != 0 {
		t.Errorf("sign out: status %d", status)
	}
}

// TestTerminalSession opens a shell in a workspace, and ends it with the escape sequence.
func TestTerminalSession(t *testing.T) {
	t.Parallel()
	h := connected(t)
	if status := h.converse(h.terminalEnv(), "ssh dev", `
		- => echo sum-$((40+2))
		sum-42
		- => exit 3`); status != 3 {
		t.Errorf("a shell that ends with 3: status %d", status)
	}
	if status := h.converse(h.terminalEnv(), "ssh dev", `
		- => echo sum-$((40+2))
		sum-42 => ~.
		Left the session on dev.`); status == 0 {
		t.Errorf("a session that the user ended: status %d", status)
	}
}
