package lane

import (
	"math"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/path"
)

// handleAck processes an acknowledgement of the other end.
func (d *sender) handleAck(a ack) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.got > d.nextOffset || a.read > a.got || d.err != nil {
		return // invalid, or too late
	}
	full := d.nextOffset-d.readTo+Piece > d.window
	d.markRead(a.read)
	if a.got > d.ackedTo {
		d.ackedTo, d.lastAck, d.ackWaitSince, d.timeout = a.got, now, now, d.ackTimeout()
		n, rtt := 0, time.Duration(0)
		for ; n < len(d.unacked) && d.unacked[n].end <= d.ackedTo; n++ {
			if at := d.unacked[n].sentAt; !at.IsZero() {
				rtt = now.Sub(at)
			}
		}
		if rtt > 0 {
			d.s.l.flow.adjustWindow(rtt, now)
		}
		d.freeRecords(n)
		d.closeWhenAcked()
	}
	if full && d.ackedTo-d.readTo < d.window/4 {
		d.window = min(2*d.window, maxStreamWindow)
		d.wakeWriters()
	}
	if a.missing > a.got {
		d.resendGap(a, now)
	}
}

// resendGap retransmits the records missing before data that arrived, because a hop on the
// path dropped them. The caller holds mu.
func (d *sender) resendGap(a ack, now time.Time) {
	if len(d.unacked) == 0 || d.unacked[0].offset >= a.missing {
		return // QUIC carries the missing data
	}
	if a.got == d.lastGap && now.Sub(d.lastGapAt) < max(lossInterval, 2*d.s.l.flow.minRTT()) {
		return // the retransmission is still in flight
	}
	d.lastGap, d.lastGapAt = a.got, now
	d.s.l.flow.shrinkOnLoss(now)
	d.scheduleResend(a.missing)
}

// resendAll retransmits everything in flight: the path has changed, and some of it may be
// lost.
func (d *sender) resendAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.scheduleResend(math.MaxUint64)
}

// probeOverdue asks for an overdue acknowledgement. It returns the time until the next check,
// or 0 if nothing is in flight.
func (d *sender) probeOverdue() time.Duration {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.unacked) > 0 && now.Sub(d.ackWaitSince) > d.timeout {
		d.ackWaitSince, d.timeout = now, min(2*d.timeout, maxTimeout)
		if now.Sub(d.lastAck) > awayAfter {
			d.timeout = awayTimeout
		}
		if d.s.l.records.Use() == path.UseNone {
			d.scheduleResend(math.MaxUint64)
		} else { // the answer to the last record reports what is missing
			last := &d.unacked[len(d.unacked)-1]
			last.sentAt = time.Time{}
			last.retain()
			go d.s.l.sendRecord(last.buffer)
		}
	}
	switch {
	case len(d.unacked) == 0:
		return 0
	case d.timeout < maxTimeout:
		return checkInterval
	}
	return awayCheckInterval // the other end is away
}

// ackTimeout returns how long an acknowledgement may take.
func (d *sender) ackTimeout() time.Duration { return max(minTimeout, 4*d.s.l.flow.minRTT()) }

// scheduleResend starts to retransmit the records that begin before an offset. The caller
// holds mu.
func (d *sender) scheduleResend(before uint64) {
	if len(d.unacked) == 0 {
		return
	}
	d.resendTo = max(d.resendTo, before)
	if !d.resending {
		d.resending = true
		go d.runResend()
	}
}

// runResend retransmits until no more retransmissions are scheduled.
func (d *sender) runResend() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.resendTo > d.ackedTo && len(d.unacked) > 0 {
		before := d.resendTo
		d.resendTo = 0
		d.mu.Unlock()
		if d.s.l.records.Use() == path.UseNone {
			d.writeMu.Lock()
			d.fallBackToQUIC()
			d.writeMu.Unlock()
		} else {
			d.resendRecords(before)
		}
		d.mu.Lock()
	}
	d.resending, d.resendTo = false, 0
}

// resendRecords retransmits the records that begin before an offset.
func (d *sender) resendRecords(before uint64) {
	d.mu.Lock()
	var all []unackedRecord
	for i := range d.unacked {
		k := &d.unacked[i]
		if k.offset >= before {
			break
		}
		k.sentAt = time.Time{}
		k.retain()
		all = append(all, *k)
	}
	d.mu.Unlock()
	sent := true
	for _, k := range all {
		d.mu.Lock()
		sent = sent && d.err == nil
		have := k.end <= d.ackedTo
		d.mu.Unlock()
		if sent && !have {
			sent = d.s.l.sendRecord(k.buffer)
		} else {
			k.free()
		}
	}
}

// fallBackToQUIC sends the unacknowledged data by QUIC. The caller holds writeMu.
func (d *sender) fallBackToQUIC() {
	d.mu.Lock()
	all := append([]unackedRecord(nil), d.unacked...)
	for _, k := range all {
		k.retain()
	}
	d.mu.Unlock()
	var err error
	for _, k := range all {
		if r, bad := d.s.l.openOwnRecord(k.data); err == nil && bad == nil {
			err = d.writeChunk(k.offset, r.data)
			r.buf.free()
		}
		k.free()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil || err != nil {
		return // the writer gets the error
	}
	d.freeRecords(len(d.unacked))
	d.useRecords, d.ackedTo = false, d.nextOffset
	d.markRead(d.nextOffset)
	d.closeWhenAcked()
}

// closeWhenAcked closes the QUIC stream once all data written before CloseWrite has arrived.
// The caller holds mu.
func (d *sender) closeWhenAcked() {
	if d.closing && !d.quicClosed && len(d.unacked) == 0 {
		d.quicClosed = true
		_ = d.s.out.Close() // fails only when the other side stopped reading
		d.s.markEnded(&d.s.sendEnded)
	}
}
