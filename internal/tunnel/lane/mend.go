package lane

import (
	"math"
	"time"
)

// acknowledged takes what the other end says that it has.
func (d *sender) acknowledged(a ack) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.got > d.next || a.read > a.got || d.err != nil {
		return // nonsense, or too late
	}
	under := d.next - d.read
	d.read = max(d.read, a.read)
	if a.got > d.got {
		d.got, d.heard, d.timeout = a.got, now, max(leastTimeout, 4*d.quickest)
		n, took := 0, time.Duration(0)
		for ; n < len(d.kept) && d.kept[n].end <= d.got; n++ {
			if at := d.kept[n].at; !at.IsZero() {
				took = now.Sub(at)
			}
		}
		d.free(n)
		if took > 0 {
			// It limits when it is full, unless of what the other end does not read.
			d.judge(took, under+Piece > d.window && d.got-d.read < d.window/4, now)
		}
		d.finish()
	}
	if a.missing > a.got {
		d.mendGap(a, now)
	}
	d.moved.Broadcast()
}

// judge takes the time until something that was sent was there, and makes the
// window bigger or smaller. It does not grow unless it was what limits.
func (d *sender) judge(took time.Duration, limits bool, now time.Time) {
	switch {
	case d.quickest == 0 || took < d.quickest:
		d.quickest, d.since = took, now
	case now.Sub(d.since) > forgetAfter: // with less under way it is seen what the way itself takes
		d.quickest, d.since, d.slow = took, now, false
		d.window = max(d.window/2, leastWindow)
	}
	if d.quickestNow == 0 || took < d.quickestNow {
		d.quickestNow = took
	}
	if d.seen++; d.seen < looks {
		return
	}
	late := d.quickestNow > d.quickest+d.quickest/4+slack
	d.seen, d.quickestNow = 0, 0
	switch {
	case late:
		d.slow = true
		d.window = max(d.window*7/8, leastWindow)
	case limits && d.slow:
		d.window = min(d.window*9/8, maxWindow)
	case limits:
		d.window = min(d.window*2, maxWindow)
	}
}

// mendGap sends again what is missing before something that came: somebody on the
// way dropped it. The caller holds mu.
func (d *sender) mendGap(a ack, now time.Time) {
	if len(d.kept) == 0 || d.kept[0].offset >= a.missing {
		return // QUIC has it on the way
	}
	if a.got == d.gap && now.Sub(d.gapAt) < max(50*time.Millisecond, 2*d.quickest) {
		return // it is on the way again
	}
	d.gap, d.gapAt = a.got, now
	d.slow = true
	d.window = max(d.window*3/4, leastWindow)
	d.mend(a.missing)
}

// changed sends again what is under way: the way has changed, and some may be lost.
func (d *sender) changed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.quickest, d.quickestNow, d.seen, d.slow = 0, 0, 0, false
	d.moved.Broadcast() // who waits for room looks at the way
	d.mend(math.MaxUint64)
}

// overdue sends again what was not acknowledged in time, and says whether something
// is under way.
func (d *sender) overdue() bool {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.kept) > 0 && now.Sub(d.heard) > d.timeout {
		d.heard, d.timeout = now, min(2*d.timeout, maxTimeout)
		d.mend(math.MaxUint64)
	}
	return len(d.kept) > 0
}

// mend has what is kept before an offset sent again. The caller holds mu.
func (d *sender) mend(before uint64) {
	if len(d.kept) == 0 {
		return
	}
	d.mendTo = max(d.mendTo, before)
	if !d.mending {
		d.mending = true
		go d.resend()
	}
}

// resend sends again until nothing more is asked for.
func (d *sender) resend() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.mendTo > d.got && len(d.kept) > 0 {
		before := d.mendTo
		d.mendTo = 0
		d.mu.Unlock()
		if d.s.l.way.Use() == UseNone {
			d.turn.Lock()
			d.fallBack()
			d.turn.Unlock()
		} else {
			d.sendAgain(before)
		}
		d.mu.Lock()
	}
	d.mending, d.mendTo = false, 0
}

// sendAgain sends the records before an offset again.
func (d *sender) sendAgain(before uint64) {
	d.mu.Lock()
	var all []kept
	for i := range d.kept {
		k := &d.kept[i]
		if k.offset >= before {
			break
		}
		k.at = time.Time{}
		k.hold()
		all = append(all, *k)
	}
	d.mu.Unlock()
	sent := true
	for _, k := range all {
		d.mu.Lock()
		sent = sent && d.err == nil
		have := k.end <= d.got
		d.mu.Unlock()
		if sent && !have {
			sent = d.s.l.send(k.buffer)
		} else {
			k.free()
		}
	}
}

// fallBack has QUIC carry what is kept. The caller holds turn.
func (d *sender) fallBack() {
	d.mu.Lock()
	all := append([]kept(nil), d.kept...)
	for _, k := range all {
		k.hold()
	}
	d.records = false
	d.mu.Unlock()
	var err error
	for _, k := range all {
		if r, bad := d.s.l.reopen(k.data); err == nil && bad == nil {
			err = d.putQUIC(k.offset, r.data)
			r.buf.free()
		}
		k.free()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil || err != nil {
		return // which whoever writes is told
	}
	d.free(len(d.kept))
	d.got, d.read = d.next, d.next
	d.moved.Broadcast()
	d.finish()
}

// finish ends QUIC's stream once all has arrived that was written before
// CloseWrite. The caller holds mu.
func (d *sender) finish() {
	if d.closing && !d.closed && len(d.kept) == 0 {
		d.closed = true
		_ = d.s.q.Close() // fails only when the other side wants nothing any more
		d.s.ended(&d.s.sent)
	}
}
