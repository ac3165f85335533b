package provisioner

import (
	"math"
	"strconv"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/terraform"
)

// boundOptions are the flags that bound what a provisioner takes of its machine.
type boundOptions struct{ cacheSize, slotMemory, slotCPUs string }

func (b *boundOptions) options() []*option.Option {
	return []*option.Option{
		option.String(&b.cacheSize, "cache-size", "How large what is kept of earlier builds may become, such as 512Mi or 20Gi; what was not used for the longest time goes first.").Env("CODER_PROVISIONER_DAEMON_CACHE_SIZE").Def("10Gi"),
		option.String(&b.slotMemory, "slot-memory", "Memory that one build may take, such as 2Gi; any when empty. On Linux, where control groups can be made.").Env("CODER_PROVISIONER_DAEMON_SLOT_MEMORY"),
		option.String(&b.slotCPUs, "slot-cpus", "Processors that one build may keep busy, such as 1.5; any when empty. On Linux, where control groups can be made.").Env("CODER_PROVISIONER_DAEMON_SLOT_CPUS"),
	}
}

// apply puts the bounds into an engine's configuration.
func (b *boundOptions) apply(c *terraform.Config) (err error) {
	if c.StoreBytes, err = size("--cache-size", b.cacheSize, 1); err != nil {
		return err
	}
	if c.Limits.MemoryBytes, err = size("--slot-memory", b.slotMemory, 64<<20); err != nil {
		return err
	}
	if b.slotCPUs != "" {
		n, err := strconv.ParseFloat(b.slotCPUs, 64)
		if err != nil || !(n >= 0.01 && n <= 1000) {
			return app.Failure("--slot-cpus %q is not a number from 0.01 to 1000", b.slotCPUs)
		}
		c.Limits.CPUs = n
	}
	return nil
}

// size reads a number of bytes, of at least so many; 0 for an empty text.
func size(flag, text string, least int64) (int64, error) {
	if text == "" {
		return 0, nil
	}
	number, unit := text, int64(1)
	for i, suffix := range []string{"Ki", "Mi", "Gi", "Ti"} {
		if n, ok := strings.CutSuffix(text, suffix); ok {
			number, unit = n, 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit || n*unit < least {
		return 0, app.Failure("%s %q is not a size such as 512Mi or 20Gi, of at least %d bytes", flag, text, least)
	}
	return n * unit, nil
}
