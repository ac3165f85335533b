package bench

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// sshOverhead measures `coder ssh workspace true` against OpenSSH's
// `ssh host true` to a real sshd on loopback; and the agent's memory at rest.
func sshOverhead(ctx context.Context, s *server, root string, runs int) ([]row, error) {
	t, err := s.push(ctx, "local", filepath.Join(root, "examples", "templates", "local"))
	if err != nil {
		return nil, err
	}
	if _, err := s.create(ctx, "shell", t); err != nil {
		return nil, err
	}
	defer s.run(context.WithoutCancel(ctx), "delete", "shell", "--yes") //nolint:errcheck // best effort
	if err := s.run(ctx, "ssh", "shell", "true"); err != nil {
		return nil, err
	}
	d, err := newSSHD(ctx, loopback, filepath.Join(s.dir, "sshd"))
	if err != nil {
		return nil, err
	}
	defer d.stop()
	var ratios []float64
	var ours []time.Duration
	for range runs {
		start := time.Now()
		if err := d.run(ctx, "true"); err != nil {
			return nil, err
		}
		floor := time.Since(start)
		start = time.Now()
		if err := s.run(ctx, "ssh", "shell", "true"); err != nil {
			return nil, err
		}
		o := time.Since(start)
		ours = append(ours, o)
		ratios = append(ratios, float64(o)/float64(floor))
	}
	slices.Sort(ratios)
	rows := []row{
		atMost("ssh_over_openssh", ratios[len(ratios)/2], 1.5, "x"),
		atMost("ssh_p50", ms(quantile(ours, 0.5)), 400, "ms"),
	}
	pid, err := agentPID(s.dir)
	if err != nil {
		return nil, err
	}
	rss, err := resident(pid)
	if err != nil {
		return nil, err
	}
	return append(rows, atMost("agent_resident", float64(rss)/1e6, 60, "MB")), nil
}

// agentPID finds the agent process of this run's server: `coder agent`, with
// the server's directory in its environment.
func agentPID(dir string) (int, error) {
	procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, err
	}
	for _, p := range procs {
		b, err := os.ReadFile(p)
		if err != nil {
			continue
		}
		args := strings.Split(string(b), "\x00")
		if len(args) < 2 || args[1] != "agent" || !strings.Contains(args[0], "coder") {
			continue
		}
		env, err := os.ReadFile(filepath.Join(filepath.Dir(p), "environ"))
		if err == nil && strings.Contains(string(env), dir) {
			return strconv.Atoi(filepath.Base(filepath.Dir(p)))
		}
	}
	return 0, fmt.Errorf("no agent of %s runs", dir)
}

// sshd is an OpenSSH server of our own on this machine. Its sessions have a home
// directory of their own, as those in workspaces do: what a shell reads there at
// its start would otherwise be measured.
type sshd struct {
	dir        string
	host, port string
	cmd        *exec.Cmd
}

func newSSHD(ctx context.Context, host, dir string) (*sshd, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for _, k := range []string{"host", "user"} {
		if out, err := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, k)).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("make an SSH key: %w\n%s", err, out)
		}
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	config := fmt.Sprintf("ListenAddress %s:%s\nHostKey %s/host\nAuthorizedKeysFile %s/user.pub\nPidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nSubsystem sftp internal-sftp\nSetEnv HOME=%s\n", host, port, dir, dir, dir)
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		os.MkdirAll("/run/sshd", 0o755) //nolint:errcheck // sshd says so itself
	}
	d := &sshd{dir: dir, host: host, port: port, cmd: exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", filepath.Join(dir, "config"))}
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 250 {
		if err = d.run(ctx, "true"); err == nil {
			return d, nil
		}
		<-tick.C
	}
	d.stop()
	return nil, fmt.Errorf("the OpenSSH server for the floor does not answer: %w", err)
}

// options are those with which OpenSSH's programs get in.
func (d *sshd) options() []string {
	return []string{"-F", "none", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
		"-i", filepath.Join(d.dir, "user"), "-o", "IdentitiesOnly=yes"}
}

func (d *sshd) run(ctx context.Context, command string) error {
	cmd := exec.CommandContext(ctx, "ssh", append(d.options(), "-p", d.port, d.host, command)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ssh: %w\n%s", err, out)
	}
	return nil
}

func (d *sshd) stop() {
	syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // it may be gone
	d.cmd.Wait()                                      //nolint:errcheck // killed
}
