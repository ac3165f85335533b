// Package prompt measures the prompts of git, answered from the agent's cache.
package prompt

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/gitauth"
	"github.com/seed-2a7f8fe7/coder/internal/startup"
)

// fetches is the number of measured pairs of prompts.
const fetches = 100

// Nothing is a program that does nothing: the floor.
const Nothing = "true"

// Measure returns the durations of the two prompts of git fetches whose credentials are in the agent's cache,
// for each of the programs as GIT_ASKPASS. The programs take turns.
func Measure(ctx context.Context, programs ...string) (map[string][]time.Duration, error) {
	dir, err := os.MkdirTemp("", "coder-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	const remote = "https://git.example.com"
	cache := &gitauth.Cache{Fetch: func(context.Context, codersdk.AgentExternalAuthRequest) (codersdk.ExternalAuthResponse, error) {
		return codersdk.ExternalAuthResponse{AccessToken: "token", Username: "oauth2"}, nil
	}}
	socket := filepath.Join(dir, "agent.sock")
	units, err := startup.Serve(ctx, socket, uuid.New(), startup.NewUnits(), map[string]http.Handler{gitauth.CredentialsPath: cache})
	if err != nil {
		return nil, err
	}
	defer units.Close()
	took := map[string][]time.Duration{}
	for range fetches {
		if _, err := cache.Get(ctx, remote, false); err != nil { // from memory, except once per minute
			return nil, err
		}
		for _, program := range programs {
			start := time.Now()
			for _, prompt := range []string{"Username for '" + remote + "':", "Password for 'https://oauth2@git.example.com':"} {
				if err := answer(ctx, program, prompt, socket); err != nil {
					return nil, fmt.Errorf("run %s as GIT_ASKPASS: %w", program, err)
				}
			}
			took[program] = append(took[program], time.Since(start))
		}
	}
	return took, nil
}

// answer runs a program as git does.
func answer(ctx context.Context, program, prompt, socket string) error {
	cmd := exec.CommandContext(ctx, program, prompt)
	cmd.Env = append(os.Environ(), "GIT_ASKPASS="+program, "CODER_AGENT_SOCKET_PATH="+socket)
	out, err := cmd.Output()
	if err == nil && program != Nothing && len(out) == 0 {
		return errors.New("it printed no answer")
	}
	return err
}
