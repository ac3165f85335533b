package remote

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
)

// forwardGPG lets the workspace sign and decrypt with the GPG agent here, until
// the connection ends. The workspace gets the public keys and whom they are
// trusted, and at the place of its own agent's socket a way to the restricted
// one here: what is secret stays here, and the agent here asks for passphrases.
func forwardGPG(ctx context.Context, client *ssh.Client, env []string, stderr io.Writer) error {
	if runtime.GOOS == "windows" {
		return app.Failure("--forward-gpg is not supported on Windows")
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
	if trust, err := localGPG(ctx, env, "gpg", "--batch", "--export-ownertrust"); err == nil { // there may be none
		if _, err := remoteGPG(client, trust, "gpg --batch --no-autostart --import-ownertrust"); err != nil {
			return err
		}
	}
	if _, err := remoteGPG(client, nil, "gpgconf --kill gpg-agent"); err != nil {
		return err
	}
	f := remoteForward{remoteNet: "unix", remote: socketName(there), localNet: "unix", local: socketName(here)}
	if err := f.start(client, stderr); err != nil {
		return app.Failure("%s; end the gpg-agent that runs there", err)
	}
	return nil
}

// socketName reads what gpgconf says, which writes some bytes as %XX.
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
		return nil, app.Failure("--forward-gpg needs GnuPG here; %s: %s %s", name, app.RootCause(err), firstLine(stderr.Bytes()))
	}
	return out, nil
}

func remoteGPG(client *ssh.Client, stdin []byte, command string) ([]byte, error) {
	s, err := client.NewSession()
	if err != nil {
		return nil, err
	}
	defer s.Close() //nolint:errcheck // it has ended
	var stderr bytes.Buffer
	s.Stdin, s.Stderr = bytes.NewReader(stdin), &stderr
	out, err := s.Output(command)
	if err != nil {
		return nil, app.Failure("--forward-gpg needs GnuPG in the workspace; %s: %s %s", command, err, firstLine(stderr.Bytes()))
	}
	return out, nil
}

func firstLine(b []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	return line
}
