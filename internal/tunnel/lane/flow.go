package lane

import (
	"sync"
	"time"
)

const (
	// The congestion window of a lane bounds the bytes in flight of all its streams. It
	// doubles, and later grows more slowly, while round trips stay short. It shrinks when
	// even the shortest of several round trips was late: then records queue somewhere on
	// the path and delay typed input.
	initialWindow = 256 << 10
	minWindow     = 64 << 10
	maxWindow     = 16 << 20
	// minStreamInFlight is the number of bytes that each stream may always have in flight, whatever
	// the other streams have.
	minStreamInFlight = 4 << 10
	// maxUnread bounds the unread bytes of all streams that the other end must keep.
	// Each stream may always have minStreamUnread unread bytes, whatever the other streams have.
	maxUnread       = 16 << 20
	minStreamUnread = 64 << 10
	// rttSlack is how much longer than expected a late round trip takes.
	rttSlack = 8 * time.Millisecond
	// rttSamples is the number of consecutive round trips that one window change considers.
	rttSamples = 8
	// rttExpiry is the age at which the shortest round trip expires.
	rttExpiry = 30 * time.Second
	// lossInterval is the minimum time between two losses that count separately.
	lossInterval = 50 * time.Millisecond
)

// flow is the congestion control of a lane. Its mutex is locked after that of a sender.
type flow struct {
	mu      sync.Mutex
	changed sync.Cond // signals that changes has grown
	// changes counts the events that may let a sender continue. A sender reads the count
	// before it checks whether it must wait, so that it misses no change in between.
	changes    uint64
	window     uint64
	inFlight   uint64
	unread     uint64 // bytes that the other end may have to keep
	slowGrowth bool   // the window no longer doubles
	lostAt     time.Time

	// Shortest round trips; 0 means unknown.
	bestRTT, recentBestRTT time.Duration // since rttExpiry at most, since the last window change
	samples                int           // round trips since the last window change
	bestRTTAt              time.Time
}

func (f *flow) init() { f.window, f.changed.L = initialWindow, &f.mu }

// reserveBytes reserves n bytes for a stream that already has under bytes in flight and unread
// unread bytes. It returns the congestion window, or 0 if the bytes do not fit.
func (f *flow) reserveBytes(n, under, unread uint64) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.inFlight+n > f.window && under+n > minStreamInFlight || f.unread+n > maxUnread && unread+n > minStreamUnread {
		return 0
	}
	f.inFlight += n
	f.unread += n
	return f.window
}

// releaseInFlight returns the window space of n bytes that arrived.
func (f *flow) releaseInFlight(n uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inFlight -= n
	f.notifyChange()
}

// releaseUnread returns the window space of n bytes that the other end read.
func (f *flow) releaseUnread(n uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unread -= n
	f.notifyChange()
}

// bytesInFlight returns the number of bytes that have not arrived yet.
func (f *flow) bytesInFlight() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.inFlight
}

// wakeSenders makes every waiting sender check again whether it may send.
func (f *flow) wakeSenders() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notifyChange()
}

// notifyChange counts a change and wakes every waiting sender. The caller holds mu.
func (f *flow) notifyChange() {
	f.changes++
	f.changed.Broadcast()
}

// changeCount returns the number of changes so far; see waitForChange.
func (f *flow) changeCount() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changes
}

// waitForChange unlocks the sender, blocks until the change count exceeds seen, and locks the
// sender again. It returns at once if a change came after the call of changeCount that
// returned seen.
func (f *flow) waitForChange(sender *sync.Mutex, seen uint64) {
	f.mu.Lock()
	sender.Unlock()
	for f.changes == seen {
		f.changed.Wait()
	}
	f.mu.Unlock()
	sender.Lock()
}

// adjustWindow records the round trip of a record and adjusts the window. The window does not
// grow unless it limits the sender.
func (f *flow) adjustWindow(rtt time.Duration, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.bestRTT == 0 || rtt < f.bestRTT:
		f.bestRTT, f.bestRTTAt = rtt, now
	case now.Sub(f.bestRTTAt) > rttExpiry: // with less in flight the next round trips show the delay of the path itself
		f.bestRTT, f.bestRTTAt, f.slowGrowth = rtt, now, false
		f.window = max(f.window/2, minWindow)
	}
	if f.inFlight < f.window/2 { // acknowledgements of a few bytes may be delayed
		f.samples, f.recentBestRTT = 0, 0
		return
	}
	if f.recentBestRTT == 0 || rtt < f.recentBestRTT {
		f.recentBestRTT = rtt
	}
	if f.samples++; f.samples < rttSamples {
		return
	}
	late := f.recentBestRTT > f.bestRTT+f.bestRTT/4+rttSlack
	f.samples, f.recentBestRTT = 0, 0
	limits := f.inFlight+Piece > f.window
	switch {
	case late:
		f.slowGrowth = true
		f.window = max(f.window*7/8, minWindow)
	case limits && f.slowGrowth:
		f.window = min(f.window*9/8, maxWindow)
	case limits:
		f.window = min(f.window*2, maxWindow)
	}
}

// shrinkOnLoss shrinks the window, because a hop on the path dropped a record.
func (f *flow) shrinkOnLoss(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.lostAt) < max(lossInterval, 2*f.bestRTT) {
		return
	}
	f.lostAt, f.slowGrowth = now, true
	f.window = max(f.window*3/4, minWindow)
}

// minRTT returns the shortest round trip, or 0 if it is unknown.
func (f *flow) minRTT() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.bestRTT
}

// resetRTT forgets the round trips of the previous path, and wakes all waiting senders.
func (f *flow) resetRTT() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bestRTT, f.recentBestRTT, f.samples, f.slowGrowth = 0, 0, 0, false
	f.notifyChange()
}
