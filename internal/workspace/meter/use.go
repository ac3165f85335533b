package meter

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// Clients report the use of an app once a minute. A report counts for the time since the
// previous one, and for at most useStep.
const (
	useStep = time.Minute
	maxUses = 10_000 // remembered apps
)

// App is an app of an agent.
type App struct {
	AgentID uuid.UUID
	Name    string
}

// Uses holds the last report of each app. It is safe for concurrent use.
type Uses struct {
	mu   sync.Mutex
	last map[App]time.Time
}

// Count records a report and returns the seconds that it counts for.
func (u *Uses) Count(app App, now time.Time) int32 {
	u.mu.Lock()
	defer u.mu.Unlock()
	step := useStep
	if last, ok := u.last[app]; ok {
		step = min(max(now.Sub(last), 0), useStep)
	}
	if step < time.Second {
		return 0 // keep the time of the report that counted
	}
	if u.last == nil {
		u.last = map[App]time.Time{}
	}
	if len(u.last) >= maxUses {
		for a, at := range u.last {
			if now.Sub(at) >= useStep {
				delete(u.last, a)
			}
		}
	}
	if len(u.last) < maxUses {
		u.last[app] = now
	}
	return int32(step / time.Second)
}
