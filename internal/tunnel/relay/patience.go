package relay

import (
	"sync/atomic"
	"time"
)

// The bounds of Patience.Silence.
const (
	LeastSilence = time.Second
	maxSilence   = 8 * time.Second
)

// Patience decides how long a link may be silent before it is doubted. Another link is dialed
// beside a doubted one. On a busy machine, where all links answer late, each dial adds to the
// load. So the time doubles with every doubt, up to 8 s, and is halved when a link answers
// quickly. The zero value is ready for use. It is safe for concurrent use.
type Patience struct{ doubts atomic.Uint32 }

// Silence returns how long an answer may take: LeastSilence times a power of two.
func (p *Patience) Silence() time.Duration { return LeastSilence << p.doubts.Load() }

// Doubted notes that a link did not answer in time.
func (p *Patience) Doubted() {
	if n := p.doubts.Load(); LeastSilence<<n < maxSilence {
		p.doubts.CompareAndSwap(n, n+1)
	}
}

// Answered notes how long a link took to answer.
func (p *Patience) Answered(after time.Duration) {
	if n := p.doubts.Load(); n > 0 && after < LeastSilence/2 {
		p.doubts.CompareAndSwap(n, n-1)
	}
}

// Forget removes all doubts, because the network may have changed.
func (p *Patience) Forget() { p.doubts.Store(0) }
