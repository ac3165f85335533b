// Package gitauth is how git inside of a workspace is let in elsewhere as the
// workspace's owner: over SSH with the key pair that the server keeps for them,
// over HTTPS with the login that it knows. It asks the server as the agent, whose
// token is in the environment of every session. (AG-19)
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

	"github.com/seed-2a7f8fe7/coder/client"
)

// keyTimeout bounds the question for the key.
const keyTimeout = 15 * time.Second

// SSH runs OpenSSH's client for git inside of a workspace with the key pair
// that the server keeps for the workspace's owner, beside whatever keys the
// owner has there; GIT_SSH_COMMAND names it. The private key is in a file of
// the owner's alone for as long as ssh runs. It gives ssh's exit status, or an
// error when there is no key or no ssh.
func SSH(ctx context.Context, env, args []string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	key, err := ownerKey(ctx, env)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "coder-gitssh-")
	if err != nil {
		return 0, fmt.Errorf("make room for the git SSH key: %w", err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "key")
	if err := os.WriteFile(file, []byte(key), 0o600); err != nil {
		return 0, fmt.Errorf("write the git SSH key: %w", err)
	}
	// Naming one identity leaves out the usual ones, so those are named too.
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

// variable gives the last value of a variable in an environment.
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

// self gives a client that speaks for the agent of this workspace, as the
// environment of its sessions says.
func self(env []string) (*client.Client, error) {
	u, err := url.Parse(variable(env, "CODER_AGENT_URL"))
	token := variable(env, "CODER_AGENT_TOKEN")
	if err != nil || u.Host == "" || token == "" {
		return nil, errors.New("this is for git inside of a workspace: CODER_AGENT_URL and CODER_AGENT_TOKEN are not set")
	}
	c := client.New(u)
	c.SessionToken = token
	return c, nil
}

// get asks the server for what is at a path.
func get(ctx context.Context, c *client.Client, path string, q url.Values, out any) error {
	resp, err := c.Request(ctx, http.MethodGet, path, q, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return client.ReadError(resp)
	}
	return json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(out)
}

// ownerKey asks the server for the private key.
func ownerKey(ctx context.Context, env []string) (string, error) {
	c, err := self(env)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, keyTimeout)
	defer cancel()
	var key struct {
		PrivateKey string `json:"private_key"`
	}
	if err := get(ctx, c, "/workspaceagents/me/gitsshkey", nil, &key); err != nil {
		return "", fmt.Errorf("ask for the git SSH key: %w", err)
	}
	if key.PrivateKey == "" {
		return "", errors.New("the server sent no git SSH key")
	}
	return key.PrivateKey, nil
}
