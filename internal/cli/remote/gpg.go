package remote

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
)

// forwardGPG lets the workspace sign and decrypt with the local GPG agent until
// the connection ends. It imports the public keys and the owner trust into the
// workspace, and replaces the agent socket there by a forward to the local
// restricted socket. Private keys stay on this machine, and the local agent
// prompts for passphrases.
func forwardGPG(ctx context.Context, client *ssh.Client, env []string, stderr io.Writer) error {
	if runtime.GOOS == "windows" {
		return command.Failure("--forward-gpg is not supported on Windows")
	}
	here, err := localGPG(ctx, env, "gpgconf", "--list-dirs", "agent-extra-socket")
	if err != nil {
		return err
	}
	if _, err := localGPG(ctx, env, "gpgconf", "--launch", "gpg-agent"); err != nil {
		return err
	}
	keys, err := localGPG(ctx, env, "gpg", "--batch", "--export")
	if err != nil {
		return err
	}
	there, err := remoteGPG(client, nil, "gpgconf --list-dirs agent-socket")
	if err != nil {
		return err
	}
	if len(keys) > 0 {
		if _, err := remoteGPG(client, keys, "gpg --batch --no-autostart --import"); err != nil {
			return err
		}
	}
	if trust, err := localGPG(ctx, env, "gpg", "--batch", "--export-ownertrust"); err == nil { // there may be no trust database
		if _, err := remoteGPG(client, trust, "gpg --batch --no-autostart --import-ownertrust"); err != nil {
			return err
		}
	}
	if _, err := remoteGPG(client, nil, "gpgconf --kill gpg-agent"); err != nil {
		return err
	}
	f := remoteForward{remoteNet: "unix", remote: socketName(there), localNet: "unix", local: socketName(here)}
	if err := f.start(client, stderr); err != nil {
		return command.Failure("%s; stop the gpg-agent in the workspace", err)
	}
	return nil
}

// socketName decodes a path from gpgconf, which escapes some bytes as %XX.
func socketName(b []byte) string {
	s := strings.TrimSpace(string(b))
	return strings.NewReplacer("%3a", ":", "%3A", ":", "%25", "%", "%2c", ",", "%2C", ",").Replace(s)
}

func localGPG(ctx context.Context, env []string, name string, args ...string) ([]byte, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env, cmd.Stderr = env, &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, command.Failure("--forward-gpg needs GnuPG on this machine; %s: %s %s", name, command.RootCause(err), firstLine(stderr.Bytes()))
	}
	return out, nil
}

func remoteGPG(client *ssh.Client, stdin []byte, line string) ([]byte, error) {
	s, err := client.NewSession()
	if err != nil {
		return nil, err
	}
	defer s.Close() //nolint:errcheck // it has ended
	var stderr bytes.Buffer
	s.Stdin, s.Stderr = bytes.NewReader(stdin), &stderr
	out, err := s.Output(line)
	if err != nil {
		return nil, command.Failure("--forward-gpg needs GnuPG in the workspace; %s: %s %s", line, err, firstLine(stderr.Bytes()))
	}
	return out, nil
}

func firstLine(b []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	return line
}
