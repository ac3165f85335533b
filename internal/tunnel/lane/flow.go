package lane

import (
	"sync"
	"time"
)

const (
	// The window of a lane is how much may be under way, of all its streams. It
	// doubles, and later grows, while what is sent is there as quickly as ever, and
	// shrinks when even the quickest of several was late: then it waits somewhere,
	// before what is typed.
	firstWindow = 256 << 10
	leastWindow = 64 << 10
	maxWindow   = 16 << 20
	// spare is what each stream may have under way whatever the others have.
	spare = 4 << 10
	// mostUnread is how much the other end may have to keep of all streams, and share
	// what it may of each, whatever it has of the others.
	mostUnread = 16 << 20
	share      = 64 << 10
	// slack is how late that is.
	slack = 8 * time.Millisecond
	// looks is how many times in turn make one judgement.
	looks = 8
	// forgetAfter is how long the shortest time counts.
	forgetAfter = 30 * time.Second
	// lostAgain is the least time between losses that count as two.
	lostAgain = 50 * time.Millisecond
)

// flow is how much a lane has under way. It is locked after a sender.
type flow struct {
	mu    sync.Mutex
	moved sync.Cond // changes is greater now
	// changes counts what may let a sender continue. A sender reads it before it
	// looks for a reason to wait, so that no change in between is lost.
	changes uint64
	window  uint64
	under   uint64
	unread  uint64 // what the other end may have to keep
	slow    bool   // the window no longer doubles
	lostAt  time.Time

	// The times until what was sent is there.
	quickest, quickestNow time.Duration // of all, of the last looks; 0: none
	judged                int           // times taken since the last judgement
	since                 time.Time
}

func (f *flow) init() { f.window, f.moved.L = firstWindow, &f.mu }

// take takes room for n bytes of a stream that has some under way and some unread, if
// there is any, and gives the window; 0 when there is none.
func (f *flow) take(n, under, unread uint64) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.under+n > f.window && under+n > spare || f.unread+n > mostUnread && unread+n > share {
		return 0
	}
	f.under += n
	f.unread += n
	return f.window
}

// arrived returns the room back that n bytes had on their way.
func (f *flow) arrived(n uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.under -= n
	f.changed()
}

// read returns the room back that n bytes had at the other end.
func (f *flow) read(n uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unread -= n
	f.changed()
}

// underWay returns the bytes that have not arrived yet.
func (f *flow) underWay() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.under
}

// wake lets every waiting sender check again whether it may send.
func (f *flow) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed()
}

// changed counts a change and wakes every waiting sender. The caller holds mu.
func (f *flow) changed() {
	f.changes++
	f.moved.Broadcast()
}

// seen returns how many changes there were so far; see wait.
func (f *flow) seen() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changes
}

// wait unlocks the sender, blocks until there were more changes than seen
// returned to it, and locks the sender again. It returns at once if a change
// came after that call of seen.
func (f *flow) wait(sender *sync.Mutex, seen uint64) {
	f.mu.Lock()
	sender.Unlock()
	for f.changes == seen {
		f.moved.Wait()
	}
	f.mu.Unlock()
	sender.Lock()
}

// judge takes the time until something that was sent was there. The window does not
// grow unless it is what limits.
func (f *flow) judge(took time.Duration, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.quickest == 0 || took < f.quickest:
		f.quickest, f.since = took, now
	case now.Sub(f.since) > forgetAfter: // with less under way it is seen what the way itself takes
		f.quickest, f.since, f.slow = took, now, false
		f.window = max(f.window/2, leastWindow)
	}
	if f.under < f.window/2 { // acknowledgements of little may wait
		f.judged, f.quickestNow = 0, 0
		return
	}
	if f.quickestNow == 0 || took < f.quickestNow {
		f.quickestNow = took
	}
	if f.judged++; f.judged < looks {
		return
	}
	late := f.quickestNow > f.quickest+f.quickest/4+slack
	f.judged, f.quickestNow = 0, 0
	limits := f.under+Piece > f.window
	switch {
	case late:
		f.slow = true
		f.window = max(f.window*7/8, leastWindow)
	case limits && f.slow:
		f.window = min(f.window*9/8, maxWindow)
	case limits:
		f.window = min(f.window*2, maxWindow)
	}
}

// lost makes the window smaller: a hop on the way dropped something.
func (f *flow) lost(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.lostAt) < max(lostAgain, 2*f.quickest) {
		return
	}
	f.lostAt, f.slow = now, true
	f.window = max(f.window*3/4, leastWindow)
}

// trip is the quickest time; 0: not known.
func (f *flow) trip() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.quickest
}

// restart forgets what was learned of another way, and wakes all waiting writers.
func (f *flow) restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.quickest, f.quickestNow, f.judged, f.slow = 0, 0, 0, false
	f.changed()
}
