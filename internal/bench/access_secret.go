package bench

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// secretChanges is how often the secret is changed.
const secretChanges = 50

// secretRows measures the time from the change of a user secret to the end of the first new shell that has the new
// value. The floor is a new shell of the same connection.
func (s *server) secretRows(ctx context.Context) ([]row, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	ssh := s.openSSH("", "-o", "ControlMaster=auto", "-o", "ControlPath="+filepath.Join(s.dir, "secrets"), "-o", "ControlPersist=60")
	defer exec.CommandContext(context.WithoutCancel(ctx), "ssh", append(ssh, "-O", "exit", "ws")...).Run() //nolint:errcheck // best effort
	has := func(value string) error {
		return s.timed(ctx, nil, "ssh", append(ssh, "ws", `test "$BENCH_SECRET" = `+value)...)
	}
	if _, err := s.c.CreateUserSecret(ctx, "me", codersdk.CreateUserSecretRequest{Name: "bench", Value: "0", EnvName: "BENCH_SECRET"}); err != nil {
		return nil, err
	}
	var floor, changed []time.Duration
	for i := range secretChanges {
		old, next := fmt.Sprint(i), fmt.Sprint(i+1)
		for has(old) != nil && ctx.Err() == nil {
		}
		start := time.Now()
		if err := has(old); err != nil {
			return nil, err
		}
		floor = append(floor, time.Since(start))
		start = time.Now()
		if _, err := s.c.UpdateUserSecret(ctx, "me", "bench", codersdk.UpdateUserSecretRequest{Value: &next}); err != nil {
			return nil, err
		}
		for has(next) != nil && ctx.Err() == nil {
		}
		changed = append(changed, time.Since(start))
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("wait for a secret in a new shell: %w", err)
	}
	return []row{
		atMost("secret_in_new_shell_p99", ms(quantile(changed, 0.99)), 1000, "ms"),
		atMost("secret_in_new_shell_over_floor", float64(quantile(changed, 0.5))/float64(quantile(floor, 0.5)), 10, "x"),
	}, nil
}
