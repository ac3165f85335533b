package aggregated

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// step is the grain of times: control planes count microseconds, so the last
// three digits of an object's version are zeros. Those of the versions that a
// replica gives out itself are the replica's mark.
const step = uint64(time.Microsecond)

// overlap is how much of the past a watch is told again that begins at a version
// of which this replica does not know what exactly was seen by it: another
// replica gave it, or it is an object's. It is more than clocks, and what
// replicas see, are apart.
const overlap = uint64(time.Minute)

// clock gives out versions, each later than those before. It is safe for
// concurrent use.
type clock struct {
	mark, begun uint64
	mu          sync.Mutex
	last        uint64
}

func newClock() *clock {
	c := &clock{mark: 1 + rand.Uint64N(step-1)}
	c.begun = c.next()
	return c
}

// next gives the version of something that is seen to have changed now.
func (c *clock) next() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := uint64(max(0, time.Now().UnixNano()))
	c.last = max(c.last+step, now/step*step+c.mark)
	return c.last
}

// now gives the version of everything that was seen.
func (c *clock) now() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// since gives the version after which whoever has seen version has to be told of
// changes, and whether the answer is exact.
func (c *clock) since(version uint64) (uint64, bool) {
	if version%step == c.mark && version >= c.begun {
		return version, true
	}
	return version - min(version, overlap), false
}

// parseVersion reads a resource version; "" and "0" are 0, any.
func parseVersion(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, apierrors.NewBadRequest("resourceVersion \"" + s[:min(len(s), 40)] + "\" is none that this server gave")
	}
	return n, nil
}

func format(version uint64) string { return strconv.FormatUint(version, 10) }

// errExpired asks a client to list again: what changed since is not known.
func errExpired() error {
	return apierrors.NewResourceExpired("what changed since that resourceVersion is not known any more: list again")
}
