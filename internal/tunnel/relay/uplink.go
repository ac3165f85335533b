package relay

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// uplinkCheck is the interval between checks for a silent uplink.
	uplinkCheck = 250 * time.Millisecond
	// uplinkLinger is how long a closing uplink may take to send its waiting messages.
	uplinkLinger = 200 * time.Millisecond
)

// Uplink is a link of one end of tunnels to a relay, with the queue of its messages. It is
// used until it fails and never redialed. It is safe for concurrent use.
type Uplink struct {
	Out *Outbox

	link         Link
	created      time.Time
	patience     Patience
	waitingSince atomic.Int64 // age of u when the first message without an answer was sent; 0: none
	closing      chan struct{}
	once         sync.Once
}

// NewUplink returns the uplink of a link that has just been dialed; Run uses it.
func NewUplink(l Link) *Uplink {
	return &Uplink{Out: NewOutbox(), link: l, created: time.Now(), closing: make(chan struct{})}
}

// Run sends the waiting messages, and passes each received message to take, which runs in one
// goroutine. It closes the link and returns when the link fails or does not answer, when ctx
// ends, or after Close. In the latter two cases it first sends bye, a text.
func (u *Uplink) Run(ctx context.Context, bye string, take Take) {
	watch, stop := context.WithCancel(ctx)
	defer stop()
	l := answerLink{u.link, u}
	KeepAlive(watch, l)
	go u.watchAnswers(watch)
	drained := make(chan error, 1)
	go func() { drained <- u.Out.Drain(l) }()
	var received sync.WaitGroup
	received.Go(func() {
		_ = Each(u.link, func(m *Message, wait bool) bool { // any error means that the link has failed
			if sent := u.waitingSince.Swap(0); sent != 0 {
				u.patience.Answered(u.age() - time.Duration(sent))
			}
			return take(m, wait)
		})
		u.Out.Close()
	})
	select {
	case <-drained:
	case <-ctx.Done():
		u.sendBye(bye, drained)
	case <-u.closing:
		u.sendBye(bye, drained)
	}
	u.link.Close(0, "")
	u.Out.Close()
	received.Wait()
}

func (u *Uplink) sendBye(bye string, drained <-chan error) {
	u.Out.Text(bye)
	u.Out.Finish()
	select {
	case <-drained:
	case <-time.After(uplinkLinger):
	}
}

// Close ends the uplink without waiting for it.
func (u *Uplink) Close() { u.once.Do(func() { close(u.closing) }) }

// age returns the time since u was created. It is never 0, which in waitingSince means none.
func (u *Uplink) age() time.Duration { return max(1, time.Since(u.created)) }

// watchAnswers pings a link that does not answer, and closes the link if the ping has no
// answer either, until ctx ends. So the silent death of a relay is detected within about two
// seconds, on a busy machine later.
func (u *Uplink) watchAnswers(ctx context.Context) {
	t := time.NewTicker(uplinkCheck)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		limit := u.patience.Silence()
		if w := time.Duration(u.waitingSince.Load()); w == 0 || u.age()-w < limit {
			continue
		}
		u.patience.Doubted()
		began := u.age()
		ping, cancel := context.WithTimeout(ctx, limit)
		err := u.link.Ping(ping)
		cancel()
		if err != nil && ctx.Err() == nil {
			u.link.Close(0, "")
			return
		}
		u.patience.Answered(u.age() - began)
		u.waitingSince.Store(0)
	}
}

// answerLink notes the time when the first message without an answer is sent.
type answerLink struct {
	Link
	u *Uplink
}

// Send notes the time and sends.
func (l answerLink) Send(text bool, p []byte) error {
	l.u.waitingSince.CompareAndSwap(0, int64(l.u.age()))
	return l.Link.Send(text, p)
}
