// Package openssh runs OpenSSH's server, the floor of what is measured over SSH.
package openssh

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Server is an OpenSSH server on this machine. Its sessions have their own home
// directory, as in workspaces; otherwise the shell's startup files would be
// measured.
type Server struct {
	Host, Port string

	dir string
	cmd *exec.Cmd
}

// Start starts a server at a free port of host, with its keys in dir, and waits until it answers. The caller calls
// Stop.
func Start(ctx context.Context, host, dir string) (*Server, error) {
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
	config := fmt.Sprintf(
		"ListenAddress %s:%s\nHostKey %s/host\nAuthorizedKeysFile %s/user.pub\nPidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nSubsystem sftp internal-sftp\nSetEnv HOME=%s\n",
		host,
		port,
		dir,
		dir,
		dir,
	)
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		os.MkdirAll("/run/sshd", 0o755) //nolint:errcheck // sshd says so itself
	}
	d := &Server{dir: dir, Host: host, Port: port, cmd: exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", filepath.Join(dir, "config"))}
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 250 {
		if err = d.Run(ctx, "true"); err == nil {
			return d, nil
		}
		<-tick.C
	}
	d.Stop()
	return nil, fmt.Errorf("the OpenSSH server for the floor does not answer: %w", err)
}

// Options returns the options with which OpenSSH programs connect.
func (d *Server) Options() []string {
	return []string{"-F", "none", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
		"-i", filepath.Join(d.dir, "user"), "-o", "IdentitiesOnly=yes"}
}

// Run runs a command over SSH.
func (d *Server) Run(ctx context.Context, command string) error {
	cmd := exec.CommandContext(ctx, "ssh", append(d.Options(), "-p", d.Port, d.Host, command)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ssh: %w\n%s", err, out)
	}
	return nil
}

// Stop kills the server.
func (d *Server) Stop() {
	syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // it may be gone
	d.cmd.Wait()                                      //nolint:errcheck // killed
}
