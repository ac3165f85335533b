package sshd_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/sshd"
)

// openSSH writes a configuration for OpenSSH's programs with the host "ws".
func openSSH(t *testing.T, addr string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "config")
	text := "Host ws\n  HostName " + host + "\n  Port " + port + "\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("this machine has no %s", name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, errs.String())
	}
	return string(out)
}

func TestOpenSSH(t *testing.T) {
	there := t.TempDir()
	addr, _ := serve(t, func(c *sshd.Config) { c.Dir = there })
	conf := openSSH(t, addr)
	here := t.TempDir()
	data := make([]byte, 5<<20)
	_, _ = rand.Read(data)
	file := filepath.Join(here, "file")
	if err := os.WriteFile(file, data, 0o640); err != nil {
		t.Fatal(err)
	}
	same := func(t *testing.T, path string) {
		t.Helper()
		if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, data) {
			t.Errorf("%s: %v, %d bytes", path, err, len(b))
		}
	}
	t.Run("ssh", func(t *testing.T) {
		if out := run(t, "ssh", "-F", conf, "ws", "echo hello; cat /dev/null"); out != "hello\n" {
			t.Errorf("%q", out)
		}
		if out := run(t, "ssh", "-tt", "-F", conf, "ws", "tty"); !strings.HasPrefix(out, "/dev/") {
			t.Errorf("%q", out)
		}
		cmd := exec.CommandContext(t.Context(), "ssh", "-F", conf, "ws", "exit 9")
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != 9 {
			t.Errorf("ended with %v", err)
		}
	})
	t.Run("scp", func(t *testing.T) {
		run(t, "scp", "-F", conf, file, "ws:by-scp")
		same(t, filepath.Join(there, "by-scp"))
		run(t, "scp", "-F", conf, "ws:by-scp", filepath.Join(here, "back"))
		same(t, filepath.Join(here, "back"))
		run(t, "scp", "-O", "-F", conf, file, "ws:by-old-scp")
		same(t, filepath.Join(there, "by-old-scp"))
	})
	t.Run("sftp", func(t *testing.T) {
		batch := filepath.Join(here, "batch")
		if err := os.WriteFile(batch, []byte("mkdir d\nput "+file+" d/f\nls -l d\nget d/f "+here+"/got\nrename d/f d/g\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		run(t, "sftp", "-q", "-F", conf, "-b", batch, "ws")
		same(t, filepath.Join(there, "d", "g"))
		same(t, filepath.Join(here, "got"))
	})
	t.Run("rsync", func(t *testing.T) {
		run(t, "rsync", "-a", "-e", "ssh -F "+conf, here+"/", "ws:tree/")
		same(t, filepath.Join(there, "tree", "file"))
	})
	t.Run("multiplexing", func(t *testing.T) {
		control := filepath.Join(t.TempDir(), "c")
		run(t, "ssh", "-F", conf, "-M", "-S", control, "-f", "-N", "ws")
		defer run(t, "ssh", "-F", conf, "-S", control, "-O", "exit", "ws")
		for range 3 {
			if out := run(t, "ssh", "-F", conf, "-S", control, "ws", "echo hi"); out != "hi\n" {
				t.Errorf("%q", out)
			}
		}
	})
}
