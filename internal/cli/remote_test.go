package cli

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/testport"
)

// connected returns a house with a workspace dev, whose agent runs in this process.
func connected(t *testing.T) *house {
	t.Helper()
	h := newHouse(t, nil)
	h.template("plain", oneAgent)
	h.ok("create", "dev", "-t", "plain", "--yes")
	h.agent("5f2a7e6e-1d55-4c7c-9a31-0b6f7f3c2f10")
	return h
}

// TestRemoteCommands runs the commands that connect to an agent.
func TestRemoteCommands(t *testing.T) {
	t.Parallel()
	h := connected(t)
	logs := t.TempDir()
	h.commands(fmt.Sprintf(`
		ssh dev -- echo from the workspace => from the workspace
		ssh dev.main --wait=no -- echo at once => at once
		ssh dev --env KEY=value -- printenv KEY => value
		ssh dev --log-dir %s -- true
		! ssh dev -- false
		! ssh dev.nothing -- true => nothing
		! ssh nowhere -- true => no workspace nowhere
		! ssh dev --env KEY -- true => KEY
		! ssh dev --remote-forward 1 -- true => remote_port
		ping dev --num 2 --wait 1ms --utc --time => dev
		! ping nowhere => no workspace nowhere
		speedtest dev --time 1s => THROUGHPUT
		speedtest dev --time 1s --direction up --output json => "throughput_mbits"
		! speedtest dev --direction sideways => up
		open vscode dev => vscode://
		! open app dev => no apps
		port-forward --help => ports
		! port-forward dev => --tcp
		! port-forward dev --tcp x => x
		! port-forward dev --tcp other=80 => other
		show dev --details => main
		logs dev => Applying
	`, logs))
	files, err := filepath.Glob(filepath.Join(logs, "*"))
	h.must(err)
	if len(files) != 1 {
		t.Errorf("the log files of a session: %v", files)
	}
}

// TestPortForward forwards a TCP port and a UDP port at the same time.
func TestPortForward(t *testing.T) {
	t.Parallel()
	h := connected(t)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	h.must(err)
	t.Cleanup(func() { tcp.Close() }) //nolint:errcheck // the test's own
	go func() {
		for {
			conn, err := tcp.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(conn, conn)
			_ = conn.Close()
		}
	}()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	h.must(err)
	t.Cleanup(func() { udp.Close() }) //nolint:errcheck // the test's own
	go func() {
		packet := make([]byte, 1500)
		for {
			n, from, err := udp.ReadFrom(packet)
			if err != nil {
				return
			}
			_, _ = udp.WriteTo(packet[:n], from)
		}
	}()
	port := func(address net.Addr) string { _, port, _ := net.SplitHostPort(address.String()); return port }
	near, nearUDP := testport.FreeAddress(t), testport.FreeAddress(t)
	forwarding := h.start("port-forward", "dev", "--tcp", near+":"+port(tcp.Addr()), "--udp", nearUDP+":"+port(udp.LocalAddr()))
	h.until("the ports are forwarded", func() bool { return strings.Contains(forwarding.said(), "Ready.") })
	for _, end := range []struct{ network, address string }{{"tcp", near}, {"udp", nearUDP}} {
		conn, err := net.Dial(end.network, end.address)
		h.must(err)
		_, err = fmt.Fprintln(conn, "echo over", end.network)
		h.must(err)
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || line != "echo over "+end.network+"\n" {
			t.Errorf("%s: %q, %v", end.network, line, err)
		}
		h.must(conn.Close())
	}
	forwarding.stop()
	if status := <-forwarding.done; status != 0 {
		t.Errorf("status %d after Ctrl-C: %s", status, forwarding.said())
	}
}

// TestDotfiles installs dotfiles from a repository, links files without a script,
// and reports a script that fails.
func TestDotfiles(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	repository := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", repository, "-c", "user.name=test", "-c", "user.email=test@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		h.must(os.MkdirAll(filepath.Dir(filepath.Join(repository, name)), 0o755))
		h.must(os.WriteFile(filepath.Join(repository, name), []byte(text), 0o755)) //nolint:gosec // a script
		git("add", ".")
		git("commit", "-q", "-m", "change")
	}
	git("init", "-q", "-b", "main")
	write(".config/tool/settings", "x")
	write(".profile", "y")
	h.must(os.WriteFile(filepath.Join(h.dir, ".profile"), []byte("mine"), 0o600))
	h.ok("dotfiles", "--yes", repository)
	for name, want := range map[string]string{".profile": "y", ".profile.bak": "mine", ".config/tool/settings": "x"} {
		if got, err := os.ReadFile(filepath.Join(h.dir, name)); string(got) != want {
			t.Errorf("%s holds %q, want %q: %v", name, got, want, err)
		}
	}
	write("install.sh", "#!/bin/sh\necho ran > \"$HOME/ran\"\n")
	h.ok("dotfiles", "--yes", repository) // an update
	if got, err := os.ReadFile(filepath.Join(h.dir, "ran")); string(got) != "ran\n" {
		t.Errorf("install.sh wrote %q: %v", got, err)
	}
	write("install.sh", "#!/bin/sh\nexit 3\n")
	h.commands(`
		! dotfiles --yes ` + repository + ` => install.sh
		! dotfiles --yes ` + repository + ` --branch nowhere => nowhere
		! dotfiles ` + repository + ` => --yes
	`)
}

// TestProxyCommands runs the commands that manage workspace proxies.
func TestProxyCommands(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.commands(`
		wsproxy create --name sydney --display-name Sydney --icon /emojis/1f998.png => sydney
		! wsproxy create --name sydney => already exists
		wsproxy list => sydney
		wsproxy list --output json => "name": "sydney"
		wsproxy edit sydney --display-name Melbourne
		wsproxy list --output json => "display_name": "Melbourne"
		wsproxy regenerate-token sydney --only-token
		! wsproxy edit nowhere --display-name x => not found
		wsproxy delete sydney => sydney
		! wsproxy delete sydney => not found
	`)
}

// TestRoleCommands creates and updates a custom role from JSON.
func TestRoleCommands(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	role := `{"name": "deployer", "display_name": "Deployer", "site_permissions": [], "user_permissions": [],
		"organization_permissions": [{"resource_type": "template", "action": "read"}]}`
	for _, step := range []struct{ command, input, want string }{
		{"organizations roles create --stdin --dry-run", role, "deployer"},
		{"organizations roles create --stdin", role, "Created role deployer"},
		{"organizations roles update --stdin", strings.Replace(role, "Deployer", "Deploys", 1), "Deploys"},
		{"organizations roles show deployer", "", "template"},
		{"organizations roles show --output json", "", `"name": "deployer"`},
	} {
		out, errs, status := h.input(step.input, strings.Fields(step.command)...)
		if status != 0 || !strings.Contains(out+errs, step.want) {
			t.Errorf("coder %s: status %d, want %q in\n%s%s", step.command, status, step.want, out, errs)
		}
	}
	h.commands(`
		! organizations roles create => name
		! organizations roles update nothing --stdin => not found
	`)
}

// TestDatabaseCommands runs the commands that write to the database directly.
func TestDatabaseCommands(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	db := " --postgres-url " + h.PostgresURL
	h.commands(`
		server create-admin-user --username root --email root@example.com --password SomeLongPassw0rd!` + db + ` => root
		! server create-admin-user --username root --email root@example.com --password SomeLongPassw0rd!` + db + ` => already exists
		! server create-admin-user --username weak --email weak@example.com --password x` + db + ` => password
		users show root => root@example.com
		! server create-admin-user --username a --email a@example.com --password SomeLongPassw0rd! --postgres-url postgres://127.0.0.1:1/none => PostgreSQL
		server dbcrypt rotate --new-key MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE= --yes` + db + `
		server dbcrypt decrypt --keys MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE= --yes` + db + `
		server dbcrypt delete --yes` + db + `
	`)
	out, errs, status := h.input("AnotherLongPassw0rd!\nAnotherLongPassw0rd!\n", strings.Fields("reset-password root"+db)...)
	if status != 0 {
		t.Errorf("reset-password: status %d\n%s%s", status, out, errs)
	}
	if _, err := codersdk.New(h.AccessURL()).LoginWithPassword(t.Context(), codersdk.LoginWithPasswordRequest{Email: "root@example.com", Password: "AnotherLongPassw0rd!"}); err != nil {
		t.Errorf("the new password: %v", err)
	}
}
