package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/bench/openssh"
	"github.com/seed-2a7f8fe7/coder/internal/bench/plain"
	"github.com/seed-2a7f8fe7/coder/internal/bench/process"
)

// copySize is the number of bytes that scp copies.
const copySize = 1 << 30

// inWorkspace creates a workspace on its own server and measures in it.
func inWorkspace(ctx context.Context, c Config, bin string, measure func(s *server, w codersdk.Workspace) ([]row, error)) ([]row, error) {
	return inWorkspaceAt(ctx, loopback, c, bin, measure)
}

// inWorkspaceAt is inWorkspace with a server at another address of this machine.
func inWorkspaceAt(ctx context.Context, host string, c Config, bin string, measure func(s *server, w codersdk.Workspace) ([]row, error)) ([]row, error) {
	dir, err := os.MkdirTemp("", "coder-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s, err := newServerAt(ctx, host, bin, dir)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	t, err := s.push(ctx, "local", filepath.Join(c.Root, "examples", "templates", "local"))
	if err != nil {
		return nil, err
	}
	w, err := s.create(ctx, "shell", t)
	if err != nil {
		return nil, err
	}
	defer s.run(context.WithoutCancel(ctx), "delete", "shell", "--yes") //nolint:errcheck // best effort
	if err := s.run(ctx, "ssh", "shell", "true"); err != nil {
		return nil, err
	}
	if w, err = s.c.Workspace(ctx, w.ID, nil); err != nil {
		return nil, err
	}
	return measure(s, w)
}

// agentAndTerminalRows measures the cost of an agent, and the web terminal.
func agentAndTerminalRows(ctx context.Context, c Config, bin string) ([]row, error) {
	return inWorkspace(ctx, c, bin, func(s *server, w codersdk.Workspace) ([]row, error) {
		rows, err := agentCost(ctx, s)
		if err != nil {
			return rows, err
		}
		more, err := s.echoRows(ctx, agentOf(w))
		if rows = append(rows, more...); err != nil {
			return rows, err
		}
		more, err = s.browserRows(ctx, c.Root)
		return append(rows, more...), err
	})
}

// agentOf returns the agent of a workspace.
func agentOf(w codersdk.Workspace) uuid.UUID {
	for _, r := range w.LatestBuild.Resources {
		for _, a := range r.Agents {
			return a.ID
		}
	}
	return uuid.Nil
}

// agentCost measures the download of a workspace, and the memory of its agent
// before its first use.
func agentCost(ctx context.Context, s *server) ([]row, error) {
	u := fmt.Sprintf("http://%s/bin/coder-%s-%s?for=agent", s.address, runtime.GOOS, runtime.GOARCH)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "gzip") // which also keeps it compressed
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err != nil {
		return nil, err
	}
	pid, err := agentPID(s.dir)
	if err != nil {
		return nil, err
	}
	rss, err := process.Resident(pid)
	return []row{
		atMost("agent_download", float64(n)/1e6, 12, "MB"),
		atMost("agent_idle_resident", float64(rss)/1e6, 30, "MB"),
	}, err
}

// browserRows measures the round trip of a key in the web terminal in Chromium,
// against a WebSocket that echoes in Chromium.
func (s *server) browserRows(ctx context.Context, root string) ([]row, error) {
	echo, end, err := plain.Start(ctx, "floor", "")
	if err != nil {
		return nil, err
	}
	defer end()
	values, err := measureInBrowser(ctx, root, "echo.mjs", "http://"+s.address, "/@admin/shell/terminal", echo)
	if err != nil {
		return nil, fmt.Errorf("type in the web terminal: %w", err)
	}
	var rows []row
	for _, m := range values {
		rows = append(rows, atMost("browser_"+m.Name, m.Value, 2, "x"))
	}
	return rows, nil
}

// echoes is the number of typed keys.
const echoes = 500

// echoRows measures the round trip of a key through the web terminal against a
// WebSocket that echoes, in turns. The terminal cannot be as fast, because it
// adds a server and a terminal. The round trip with nothing else and without
// encryption is measured, too.
func (s *server) echoRows(ctx context.Context, agent uuid.UUID) ([]row, error) {
	echo, end, err := plain.Dial(ctx, "floor")
	if err != nil {
		return nil, err
	}
	defer end()
	bare, end, err := plain.Dial(ctx, "floor-hop")
	if err != nil {
		return nil, err
	}
	defer end()
	ours, err := s.c.Dial(ctx, "/workspaceagents/"+agent.String()+"/pty", url.Values{
		"reconnect": {uuid.NewString()}, "width": {"80"}, "height": {"24"}, "command": {"stty -icanon; echo ready; exec cat >/dev/null"},
	})
	if err != nil {
		return nil, err
	}
	defer ours.CloseNow() //nolint:errcheck // it is over
	for _, conn := range []*websocket.Conn{bare, ours} {
		for seen := []byte(nil); !bytes.Contains(seen, []byte("ready\r\n")); {
			_, b, err := conn.Read(ctx)
			if err != nil {
				return nil, err
			}
			seen = append(seen, b...)
		}
	}
	key, err := json.Marshal(codersdk.ReconnectingPTYRequest{Data: "x"})
	if err != nil {
		return nil, err
	}
	var f, h, o []time.Duration
	for range echoes {
		for _, way := range []struct {
			conn *websocket.Conn
			sent []byte
			took *[]time.Duration
		}{{echo, key, &f}, {bare, []byte("x"), &h}, {ours, key, &o}} {
			start := time.Now()
			if err := way.conn.Write(ctx, websocket.MessageText, way.sent); err != nil {
				return nil, err
			}
			if _, _, err := way.conn.Read(ctx); err != nil {
				return nil, err
			}
			*way.took = append(*way.took, time.Since(start))
		}
	}
	floorP50, bareP50, oursP50 := quantile(f, 0.5), quantile(h, 0.5), quantile(o, 0.5)
	return []row{
		atMost("terminal_echo_over_websocket", float64(oursP50)/float64(floorP50), 2, "x"),
		atMost("bare_hop_echo_over_websocket", float64(bareP50)/float64(floorP50), 2, "x"),
		atMost("terminal_echo_over_bare_hop", float64(oursP50)/float64(bareP50), 2, "x"),
		atMost("terminal_echo_p50", ms(oursP50), 1, "ms"),
	}, nil
}

// sshRows measures commands and copies against OpenSSH with a real sshd.
func (s *server) sshRows(ctx context.Context, runs int) ([]row, error) {
	d, err := openssh.Start(ctx, loopback, filepath.Join(s.dir, "sshd"))
	if err != nil {
		return nil, err
	}
	defer d.Stop()
	control := filepath.Join(s.dir, "control")
	running := s.openSSH("", "-o", "ControlMaster=auto", "-o", "ControlPath="+control, "-o", "ControlPersist=60")
	defer exec.CommandContext(context.WithoutCancel(ctx), "ssh", "-O", "exit", "-o", "ControlPath="+control, "ws").Run() //nolint:errcheck // best effort
	if err := s.timed(ctx, nil, "ssh", append(running, "ws", "true")...); err != nil {
		return nil, err
	}
	var cold, warm []float64
	for range max(1, runs) {
		var floor, ours, again time.Duration
		start := time.Now()
		if err := d.Run(ctx, "true"); err != nil {
			return nil, err
		}
		floor = time.Since(start)
		if err := s.timed(ctx, &ours, s.bin, "ssh", "shell", "true"); err != nil {
			return nil, err
		}
		if err := s.timed(ctx, &again, "ssh", append(running, "ws", "true")...); err != nil {
			return nil, err
		}
		cold, warm = append(cold, float64(ours)/float64(floor)), append(warm, float64(again)/float64(floor))
	}
	rows := []row{
		atMost("ssh_cold_over_openssh", median(cold), 1.5, "x"),
		atMost("ssh_running_over_openssh", median(warm), 0.8, "x"),
	}
	copies, err := s.copyRows(ctx, d)
	return append(rows, copies...), err
}

// openSSH returns the options with which OpenSSH programs reach the workspace
// as the host ws, through coder with flags.
func (s *server) openSSH(flags string, more ...string) []string {
	return append([]string{
		"-F", "none", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
		"-o", "ProxyCommand=" + s.bin + " " + flags + " ssh --stdio shell",
	}, more...)
}

// timed runs a program and returns its duration.
func (s *server) timed(ctx context.Context, took *time.Duration, name string, args ...string) error {
	start := time.Now()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = s.env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	if took != nil {
		*took = time.Since(start)
	}
	return nil
}

// copyRows measures scp into the workspace over the direct path and over the
// relay.
func (s *server) copyRows(ctx context.Context, d *openssh.Server) ([]row, error) {
	from, to := filepath.Join(s.dir, "from"), filepath.Join(s.dir, "to")
	f, err := os.Create(from)
	if err != nil {
		return nil, err
	}
	defer os.Remove(from)
	defer os.Remove(to)
	block := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for range copySize / len(block) {
		if _, err := f.Write(block); err != nil {
			return nil, err
		}
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	took := map[string]time.Duration{}
	for _, way := range []struct {
		name string
		args []string
	}{
		{"openssh", append(d.Options(), "-P", d.Port, from, "127.0.0.1:"+to)},
		{"direct", append(s.openSSH(""), from, "ws:"+to)},
		{"relayed", append(s.openSSH("--disable-direct-connections"), from, "ws:"+to)},
	} {
		var t time.Duration
		if err := s.timed(ctx, &t, "scp", way.args...); err != nil {
			return nil, fmt.Errorf("%s: %w", way.name, err)
		}
		took[way.name] = t
	}
	rate := func(name string) float64 { return float64(took["openssh"]) / float64(took[name]) }
	return []row{
		atLeast("scp_direct_over_openssh", rate("direct"), 0.6, "x"),
		atLeast("scp_relayed_over_openssh", rate("relayed"), 0.4, "x"),
	}, nil
}
