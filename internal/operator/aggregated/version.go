package aggregated

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// step is the resolution of times: control planes store microseconds, so the
// last three digits of an object's version are zeros. In versions that a
// replica creates itself, they identify the replica.
const step = uint64(time.Microsecond)

// overlap is the past that a watch receives again when it starts at a version
// of which this replica does not know exactly what the client has seen: another
// replica's, or an object's. It exceeds the differences between clocks, and
// between what replicas have read.
const overlap = uint64(time.Minute)

// clock creates versions, each later than those before. It is safe for
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

// next returns the version of a change that is seen now.
func (c *clock) next() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := uint64(max(0, time.Now().UnixNano()))
	c.last = max(c.last+step, now/step*step+c.mark)
	return c.last
}

// now returns the version of everything seen so far.
func (c *clock) now() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// since returns the version after which a client at version must receive
// changes, and whether that is exact.
func (c *clock) since(version uint64) (uint64, bool) {
	if version%step == c.mark && version >= c.begun {
		return version, true
	}
	return version - min(version, overlap), false
}

// parseVersion parses a resource version; "" and "0" are 0, which means any.
func parseVersion(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, apierrors.NewBadRequest("resourceVersion \"" + s[:min(len(s), 40)] + "\" was not issued by this server")
	}
	return n, nil
}

func format(version uint64) string { return strconv.FormatUint(version, 10) }

// errExpired asks a client to list again, because the changes since are
// unknown.
func errExpired() error {
	return apierrors.NewResourceExpired("changes since that resourceVersion are no longer known; list again")
}
