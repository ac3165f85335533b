package tunnel

import (
	"time"

	"github.com/google/uuid"
)

// leastGain is the least time by which another relay must be faster than the current
// one: less is noise, and a change costs a moment.
const leastGain = 5 * time.Millisecond

// chooseRelay returns the relay that a tunnel uses next: the one with the lowest latency,
// unless it is less than a fifth or leastGain faster than the current one. The server's
// own relay is uuid.Nil. A relay without a latency did not answer; without any the server
// remains.
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
