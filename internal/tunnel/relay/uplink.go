package relay

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// uplinkCheck is the interval of checks whether an uplink is silent.
	uplinkCheck = 250 * time.Millisecond
	// lingering is how long an uplink that is closed may take to send what waits.
	lingering = 200 * time.Millisecond
)

// Uplink is a link of one end of tunnels to a relay, with the messages that wait for
// it. It is used until it fails and never dialed again. It is safe for concurrent use.
type Uplink struct {
	Out *Outbox

	link     Link
	born     time.Time
	patience Patience
	waiting  atomic.Int64 // since when, after born, a message has no answer; 0: none has
	close    chan struct{}
	once     sync.Once
}

// NewUplink returns the uplink of a link that has just been dialed; Run uses it.
func NewUplink(l Link) *Uplink {
	return &Uplink{Out: NewOutbox(), link: l, born: time.Now(), close: make(chan struct{})}
}

// Run sends what waits, and passes each received message to take, which runs in one
// goroutine. It closes the link and returns when the link fails or does not answer, when
// ctx ends, or after Close. In the latter two cases it first sends bye, a text.
func (u *Uplink) Run(ctx context.Context, bye string, take Take) {
	watch, stop := context.WithCancel(ctx)
	defer stop()
	l := answerLink{u.link, u}
	KeepAlive(watch, l)
	go u.watch(watch)
	drained := make(chan error, 1)
	go func() { drained <- u.Out.Drain(l) }()
	var received sync.WaitGroup
	received.Go(func() {
		_ = Each(u.link, func(m *Message, wait bool) bool { // the link has failed, whatever the error
			if sent := u.waiting.Swap(0); sent != 0 {
				u.patience.Answered(u.since() - time.Duration(sent))
			}
			return take(m, wait)
		})
		u.Out.Close()
	})
	select {
	case <-drained:
	case <-ctx.Done():
		u.leave(bye, drained)
	case <-u.close:
		u.leave(bye, drained)
	}
	u.link.Close(0, "")
	u.Out.Close()
	received.Wait()
}

func (u *Uplink) leave(bye string, drained <-chan error) {
	u.Out.Text(bye)
	u.Out.Finish()
	select {
	case <-drained:
	case <-time.After(lingering):
	}
}

// Close ends the uplink without waiting for it.
func (u *Uplink) Close() { u.once.Do(func() { close(u.close) }) }

func (u *Uplink) since() time.Duration { return max(1, time.Since(u.born)) }

// watch pings a link that does not answer, and closes it if the ping has no answer
// either, until ctx ends. A relay that dies without a word is noticed within about two
// seconds, on a busy machine later.
func (u *Uplink) watch(ctx context.Context) {
	t := time.NewTicker(uplinkCheck)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		limit := u.patience.Silence()
		if w := time.Duration(u.waiting.Load()); w == 0 || u.since()-w < limit {
			continue
		}
		u.patience.Doubted()
		began := u.since()
		ping, cancel := context.WithTimeout(ctx, limit)
		err := u.link.Ping(ping)
		cancel()
		if err != nil && ctx.Err() == nil {
			u.link.Close(0, "")
			return
		}
		u.patience.Answered(u.since() - began)
		u.waiting.Store(0)
	}
}

// answerLink notes when a message is sent that has no answer yet.
type answerLink struct {
	Link
	u *Uplink
}

// Send notes the time and sends.
func (l answerLink) Send(text bool, p []byte) error {
	l.u.waiting.CompareAndSwap(0, int64(l.u.since()))
	return l.Link.Send(text, p)
}
