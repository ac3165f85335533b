package tunnel

import (
	"time"

	"github.com/google/uuid"
)

// leastGain is the minimum time by which another relay must be faster than the current one. A
// smaller gain is noise, and a change briefly interrupts the traffic.
const leastGain = 5 * time.Millisecond

// chooseRelay returns the relay that a tunnel uses next: the one with the lowest latency. The
// current relay stays unless another one is faster by at least a fifth and by leastGain.
// uuid.Nil is the server's own relay. A relay without a latency did not answer. If no relay
// answered, chooseRelay returns the server's.
func chooseRelay(current uuid.UUID, latencies map[uuid.UUID]time.Duration) uuid.UUID {
	if _, answers := latencies[current]; !answers {
		current = uuid.Nil
	}
	best := current
	for id, took := range latencies {
		if now, answers := latencies[best]; !answers || took < now {
			best = id
		}
	}
	now, answers := latencies[current]
	if answers && now-latencies[best] < max(leastGain, now/5) {
		return current
	}
	return best
}
