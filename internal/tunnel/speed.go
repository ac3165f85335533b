package tunnel

import (
	"context"
	"fmt"
	"io"
	"time"
)

// kindSpeed is a stream that the listener itself fills or empties. Every user may open it. Its
// argument is the direction, seen from the client.
const kindSpeed = "speed"

// Directions of a measurement.
const (
	SpeedUp   = "up"
	SpeedDown = "down"
)

// SpeedPart is the traffic in a part of a measurement.
type SpeedPart struct {
	Start, End time.Duration // since the start of the measurement
	Bytes      int64
}

const (
	speedPart  = time.Second
	speedLimit = 10 * time.Minute // of one measurement, at the agent
)

// Speed sends or receives as much as it can for the duration last. It calls each after every
// second, and finally with the sum as one part.
func (c *Conn) Speed(ctx context.Context, direction string, last time.Duration, each func(SpeedPart)) error {
	s, err := c.Open(ctx, kindSpeed, direction)
	if err != nil {
		return err
	}
	defer s.abort()
	defer context.AfterFunc(ctx, s.abort)()
	b := make([]byte, 128<<10)
	move := s.Read
	if direction == SpeedUp {
		move = s.Write
	}
	var total, part SpeedPart
	start := time.Now()
	for total.End < last {
		_ = s.SetDeadline(start.Add(last)) // fails only on a stream that has ended
		n, err := move(b)
		total.End = time.Since(start)
		total.Bytes += int64(n)
		part.Bytes += int64(n)
		if part.End = total.End; part.End-part.Start >= speedPart || total.End >= last {
			each(part)
			part = SpeedPart{Start: part.End}
		}
		if err != nil && total.End < last {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		}
	}
	each(total)
	return nil
}

// serveSpeed serves the agent's end of a measurement.
func (r *Request) serveSpeed() {
	if r.Arg != SpeedUp && r.Arg != SpeedDown {
		r.Reject(fmt.Errorf("a speed test goes %s or %s", SpeedUp, SpeedDown))
		return
	}
	s, err := r.Accept()
	if err != nil {
		return
	}
	_ = s.SetDeadline(time.Now().Add(speedLimit))
	if r.Arg == SpeedUp {
		_, _ = io.Copy(io.Discard, s) // the client reports errors
		return
	}
	b := make([]byte, 128<<10)
	for err == nil {
		_, err = s.Write(b)
	}
}
