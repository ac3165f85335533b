// Package gitauth authenticates git inside a workspace as the workspace's
// owner: over SSH with the key pair that the server stores for the owner, over
// HTTPS with the owner's external authentication. It calls the server with the
// agent's token, which is in the environment of every session. (AG-19)
package gitauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// keyTimeout bounds the request for the key.
const keyTimeout = 15 * time.Second

// SSH runs OpenSSH's client for git inside a workspace, with the owner's key
// pair from the server and the owner's own keys. GIT_SSH_COMMAND names it.
// While ssh runs, the private key is in a file with mode 0600. SSH returns
// ssh's exit status, or an error when there is no key or no ssh.
func SSH(ctx context.Context, env, args []string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	key, err := ownerKey(ctx, env)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "coder-gitssh-")
	if err != nil {
		return 0, fmt.Errorf("create a directory for the git SSH key: %w", err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "key")
	if err := os.WriteFile(file, []byte(key), 0o600); err != nil {
		return 0, fmt.Errorf("write the git SSH key: %w", err)
	}
	// Naming one identity disables the default ones, so they are named too.
	with := []string{"-i", file}
	if home := variable(env, "HOME"); home != "" {
		for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa", "id_ed25519_sk", "id_ecdsa_sk"} {
			if own := filepath.Join(home, ".ssh", name); exists(own) {
				with = append(with, "-i", own)
			}
		}
	}
	cmd := exec.CommandContext(ctx, "ssh", append(with, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = stdin, stdout, stderr, env
	err = cmd.Run()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(1, e.ExitCode()), nil
	}
	if err != nil {
		return 0, fmt.Errorf("run ssh: %w", err)
	}
	return 0, nil
}

// variable returns the last value of a variable in an environment.
func variable(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Client returns a client of the server with the agent's token, from the environment of a session.
func Client(env []string) (*codersdk.Client, error) {
	u, err := url.Parse(variable(env, "CODER_AGENT_URL"))
	token := variable(env, "CODER_AGENT_TOKEN")
	if err != nil || u.Host == "" || token == "" {
		return nil, errors.New("this command is for git inside a workspace: CODER_AGENT_URL and CODER_AGENT_TOKEN are not set")
	}
	c := codersdk.New(u)
	c.SessionToken = token
	return c, nil
}

// get requests a path of the server and decodes the JSON response into out.
func get(ctx context.Context, c *codersdk.Client, path string, q url.Values, out any) error {
	resp, err := c.Request(ctx, http.MethodGet, path, q, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return codersdk.ReadError(resp)
	}
	return json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(out)
}

// ownerKey requests the private key from the server.
func ownerKey(ctx context.Context, env []string) (string, error) {
	c, err := Client(env)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, keyTimeout)
	defer cancel()
	var key struct {
		PrivateKey string `json:"private_key"`
	}
	if err := get(ctx, c, "/workspaceagents/me/gitsshkey", nil, &key); err != nil {
		return "", fmt.Errorf("request the git SSH key: %w", err)
	}
	if key.PrivateKey == "" {
		return "", errors.New("the server returned no git SSH key")
	}
	return key.PrivateKey, nil
}
