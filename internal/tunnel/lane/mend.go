package lane

import (
	"math"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/path"
)

// acknowledged takes what the other end says that it has.
func (d *sender) acknowledged(a ack) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.got > d.next || a.read > a.got || d.err != nil {
		return // nonsense, or too late
	}
	full := d.next-d.read+Piece > d.window
	d.hasRead(a.read)
	if a.got > d.got {
		d.got, d.acked, d.heard, d.timeout = a.got, now, now, d.patience()
		n, took := 0, time.Duration(0)
		for ; n < len(d.kept) && d.kept[n].end <= d.got; n++ {
			if at := d.kept[n].at; !at.IsZero() {
				took = now.Sub(at)
			}
		}
		if took > 0 {
			d.s.l.flow.judge(took, now)
		}
		d.free(n)
		d.finish()
	}
	if full && d.got-d.read < d.window/4 {
		d.window = min(2*d.window, mostKept)
		d.wake()
	}
	if a.missing > a.got {
		d.mendGap(a, now)
	}
}

// mendGap sends again what is missing before something that came: a hop on the
// way dropped it. The caller holds mu.
func (d *sender) mendGap(a ack, now time.Time) {
	if len(d.kept) == 0 || d.kept[0].offset >= a.missing {
		return // QUIC has it on the way
	}
	if a.got == d.gap && now.Sub(d.gapAt) < max(lostAgain, 2*d.s.l.flow.trip()) {
		return // it is on the way again
	}
	d.gap, d.gapAt = a.got, now
	d.s.l.flow.lost(now)
	d.mend(a.missing)
}

// changed sends again what is under way: the way has changed, and some may be lost.
func (d *sender) changed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mend(math.MaxUint64)
}

// overdue asks after what was not acknowledged in time. It returns when to check again; 0
// means that nothing is under way.
func (d *sender) overdue() time.Duration {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.kept) > 0 && now.Sub(d.heard) > d.timeout {
		d.heard, d.timeout = now, min(2*d.timeout, maxTimeout)
		if now.Sub(d.acked) > asleep {
			d.timeout = asleepTimeout
		}
		if d.s.l.way.Use() == path.UseNone {
			d.mend(math.MaxUint64)
		} else { // the answer to the last one says what is missing
			last := &d.kept[len(d.kept)-1]
			last.at = time.Time{}
			last.hold()
			go d.s.l.send(last.buffer)
		}
	}
	switch {
	case len(d.kept) == 0:
		return 0
	case d.timeout < maxTimeout:
		return look
	}
	return rareLook // the other end is away
}

// patience is how long what is under way may take to be acknowledged.
func (d *sender) patience() time.Duration { return max(leastTimeout, 4*d.s.l.flow.trip()) }

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
		if d.s.l.way.Use() == path.UseNone {
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
		return // the writer gets the error
	}
	d.free(len(d.kept))
	d.records, d.got = false, d.next
	d.hasRead(d.next)
	d.finish()
}

// finish ends QUIC's stream once all has arrived that was written before
// CloseWrite. The caller holds mu.
func (d *sender) finish() {
	if d.closing && !d.closed && len(d.kept) == 0 {
		d.closed = true
		_ = d.s.out.Close() // fails only when the other side stopped reading
		d.s.ended(&d.s.sent)
	}
}
