//go:build unix

package remote

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/seed-2a7f8fe7/coder/internal/sshd"
)

// gnupg makes a home of GnuPG, in a short path, for sockets are in it.
func gnupg(t *testing.T) (home string, env []string) {
	t.Helper()
	home, err := os.MkdirTemp("", "gpg")
	if err != nil {
		t.Fatal(err)
	}
	env = append(os.Environ(), "GNUPGHOME="+home, "HOME="+home)
	t.Cleanup(func() {
		cmd := exec.Command("gpgconf", "--kill", "all")
		cmd.Env = env
		_ = cmd.Run() // nothing runs
		os.RemoveAll(home)
	})
	return home, env
}

func runGPG(t *testing.T, env []string, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "gpg", append([]string{"--batch"}, args...)...)
	var stderr bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stderr = env, strings.NewReader(stdin), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("gpg %v: %v\n%s", args, err, &stderr)
	}
	return string(out)
}

// workspace is an SSH connection to a workspace with the environment.
func workspace(t *testing.T, env []string) *ssh.Client {
	t.Helper()
	srv, err := sshd.New(sshd.Config{HostKeySeed: bytes.Repeat([]byte{7}, 32), Env: env, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go srv.ServeConn(ctx, nc, sshd.Options{}) //nolint:errcheck // the client sees it
		}
	}()
	c, err := ssh.Dial("tcp", l.Addr().String(), &ssh.ClientConfig{User: "x", HostKeyCallback: ssh.InsecureIgnoreHostKey()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// A workspace signs and decrypts with a key that stays here, and can no more
// when the connection has ended.
func TestForwardGPG(t *testing.T) {
	if _, err := exec.LookPath("gpg"); err != nil {
		t.Skip("gpg is not installed")
	}
	_, here := gnupg(t)
	_, there := gnupg(t)
	runGPG(t, here, "", "--passphrase", "", "--quick-generate-key", "Ann <ann@example.com>", "default", "default", "never")
	c := workspace(t, there)
	if err := forwardGPG(t.Context(), c, here, t.Output()); err != nil {
		t.Fatal(err)
	}
	there = append(there, "LC_ALL=C")
	signed := runGPG(t, there, "a text\n", "--clearsign", "--local-user", "ann@example.com")
	if !strings.Contains(signed, "BEGIN PGP SIGNATURE") {
		t.Errorf("%s", signed)
	}
	runGPG(t, here, signed, "--verify")
	secret := runGPG(t, here, "for the workspace\n", "--armor", "--encrypt", "--recipient", "ann@example.com")
	if text := runGPG(t, there, secret, "--decrypt"); text != "for the workspace\n" {
		t.Errorf("decrypted: %q", text)
	}
	if keys, err := os.ReadDir(home(there) + "/private-keys-v1.d"); err == nil && len(keys) > 0 {
		t.Errorf("%d secret keys came into the workspace", len(keys))
	}
	if forwardGPG(t.Context(), c, here, t.Output()) == nil {
		t.Error("it is forwarded twice over one connection")
	}
	c.Close()
	cmd := exec.CommandContext(t.Context(), "gpg", "--batch", "--clearsign", "--local-user", "ann@example.com")
	cmd.Env, cmd.Stdin = there, strings.NewReader("a text\n")
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("it signs without the connection: %s", out)
	}
}

func home(env []string) (dir string) {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "GNUPGHOME="); ok {
			dir = v
		}
	}
	return dir
}

// Where GnuPG is missing, the error says where and what of it.
func TestForwardGPGWithoutIt(t *testing.T) {
	if _, err := exec.LookPath("gpgconf"); err != nil {
		t.Skip("gpg is not installed")
	}
	_, here := gnupg(t)
	c := workspace(t, []string{"PATH=/nowhere", "SHELL=/bin/sh", "HOME=" + t.TempDir()})
	err := forwardGPG(t.Context(), c, here, t.Output())
	if err == nil || !strings.Contains(err.Error(), "--forward-gpg needs GnuPG in the workspace") || !strings.Contains(err.Error(), "gpgconf") {
		t.Errorf("%v", err)
	}
	t.Setenv("PATH", t.TempDir())
	err = forwardGPG(t.Context(), c, here, t.Output())
	if err == nil || !strings.Contains(err.Error(), "--forward-gpg needs GnuPG on this machine") {
		t.Errorf("%v", err)
	}
}
