package bench

import (
	"context"
	"path/filepath"
	"runtime"

	"github.com/seed-2a7f8fe7/coder/internal/bench/prompt"
)

// askpassRows measures the two prompts of a git fetch that the agent's cache answers, through the agent's program
// and through the whole program. The floor is a program that does nothing, started twice.
func askpassRows(ctx context.Context, bin string) ([]row, error) {
	slim := filepath.Join(filepath.Dir(bin), "coder-agent-"+runtime.GOOS+"-"+runtime.GOARCH)
	took, err := prompt.Measure(ctx, prompt.Nothing, slim, bin)
	if err != nil {
		return nil, err
	}
	p50 := func(program string) float64 { return ms(quantile(took[program], 0.5)) }
	return []row{
		atMost("fetch_askpass_agent_p50", p50(slim), 5, "ms"),
		atMost("fetch_askpass_coder_p50", p50(bin), 5, "ms"),
		atMost("fetch_askpass_floor_p50", p50(prompt.Nothing), 5, "ms"),
		atMost("fetch_askpass_agent_over_floor", p50(slim)/p50(prompt.Nothing), 2, "x"),
	}, nil
}
