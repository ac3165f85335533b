package provisioner

import (
	"math"
	"strconv"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/terraform"
)

// boundOptions holds the flags that limit the resources of a provisioner.
type boundOptions struct{ cacheSize, slotMemory, slotCPUs string }

func (b *boundOptions) options() []*option.Option {
	return []*option.Option{
		option.String(&b.cacheSize, "cache-size", "Maximum size of the cache of earlier builds, such as 512Mi or 20Gi; the least recently used entries "+
			"are removed first").Env("CODER_PROVISIONER_DAEMON_CACHE_SIZE").Def("10Gi"),
		option.String(&b.slotMemory, "slot-memory", "Memory limit of one build, such as 2Gi; empty means unlimited. Linux only, requires control groups").
			Env("CODER_PROVISIONER_DAEMON_SLOT_MEMORY"),
		option.String(&b.slotCPUs, "slot-cpus", "CPU limit of one build in cores, such as 1.5; empty means unlimited. Linux only, requires control groups").
			Env("CODER_PROVISIONER_DAEMON_SLOT_CPUS"),
	}
}

// apply sets the limits in an engine's configuration.
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
			return command.Failure("--slot-cpus %q is not a number from 0.01 to 1000", b.slotCPUs)
		}
		c.Limits.CPUs = n
	}
	return nil
}

// size parses a number of bytes, at least least. Empty text is 0.
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
		return 0, command.Failure("%s %q is not a size of at least %d bytes, such as 512Mi or 20Gi", flag, text, least)
	}
	return n * unit, nil
}
