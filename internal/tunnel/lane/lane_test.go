package lane_test

import (
	"bytes"
	"crypto/ed25519"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/lane"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/path"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// link is one direction of a path: it delivers records in order, as TCP does.
type link struct {
	use    atomic.Int32
	wanted atomic.Int32
	sent   atomic.Int64
	to     atomic.Pointer[lane.Lane]
	queue  chan []byte
	mangle func([]byte) [][]byte // returns the records that arrive instead; nil: all arrive unchanged
	slow   func(n int)           // blocks for the transmission time of n bytes; nil: no delay
	done   chan struct{}
}

func newLink(t testing.TB) *link {
	l := &link{queue: make(chan []byte, 1024), done: make(chan struct{})}
	var run sync.WaitGroup
	run.Go(func() {
		for {
			select {
			case b := <-l.queue:
				if l.slow != nil {
					l.slow(len(b))
				}
				l.to.Load().Record(b)
			case <-l.done:
				return
			}
		}
	})
	t.Cleanup(func() { close(l.done); run.Wait() })
	return l
}

func (l *link) Use() path.Use { return path.Use(l.use.Load()) }
func (l *link) SeekWire()     { l.wanted.Add(1) }

func (l *link) Send(b []byte) bool {
	if l.Use() == path.UseNone {
		return false
	}
	l.sent.Add(1)
	all := [][]byte{slices.Clone(b)}
	if l.mangle != nil {
		all = l.mangle(all[0])
	}
	for _, b := range all {
		select {
		case l.queue <- b:
		case <-l.done:
			return false
		}
	}
	return true
}

// pair is the two ends of a QUIC connection with their lanes.
type pair struct {
	conns [2]*quic.Conn
	lanes [2]*lane.Lane
	links [2]*link // the outgoing path of each end
}

func newPair(t testing.TB) *pair {
	t.Helper()
	_, key, err := ed25519.GenerateKey(crand.Reader)
	ok(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(crand.Reader, c, c, key.Public(), key)
	ok(t, err)
	secrets := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS13, NextProtos: []string{"lane"},
	}
	l, err := quic.ListenAddr("127.0.0.1:0", secrets, &quic.Config{MaxIncomingStreams: 1 << 14})
	ok(t, err)
	t.Cleanup(func() { l.Close() })
	p := &pair{}
	p.conns[0], err = quic.DialAddr(t.Context(), l.Addr().(*net.UDPAddr).String(), &tls.Config{InsecureSkipVerify: true, NextProtos: secrets.NextProtos}, nil)
	ok(t, err)
	p.conns[1], err = l.Accept(t.Context())
	ok(t, err)
	for i := range 2 {
		p.links[i] = newLink(t)
		p.lanes[i], err = lane.New(p.conns[i], i == 1, p.links[i])
		ok(t, err)
	}
	for i := range 2 {
		p.links[i].to.Store(p.lanes[1-i])
		t.Cleanup(func() { _ = p.conns[i].CloseWithError(0, "") })
	}
	return p
}

// setUse sets the use of records at both ends.
func (p *pair) setUse(u path.Use) {
	for i := range 2 {
		p.links[i].use.Store(int32(u))
		p.lanes[i].Changed()
	}
}

// openStream opens a stream and returns both ends.
func (p *pair) openStream(t testing.TB) [2]*lane.Stream {
	t.Helper()
	q, err := p.conns[0].OpenStreamSync(t.Context())
	ok(t, err)
	a := p.lanes[0].Stream(q)
	_, err = a.Write([]byte("x"))
	ok(t, err)
	q, err = p.conns[1].AcceptStream(t.Context())
	ok(t, err)
	b := p.lanes[1].Stream(q)
	one := make([]byte, 1)
	_, err = io.ReadFull(b, one)
	ok(t, err)
	_, err = b.Write(one)
	ok(t, err)
	_, err = io.ReadFull(a, one)
	ok(t, err)
	return [2]*lane.Stream{a, b}
}

// noise returns n pseudorandom bytes, the same for the same seeds.
func noise(seed, which uint64, n int) []byte {
	var key [32]byte
	key[0], key[1] = byte(seed), byte(which)
	b := make([]byte, n)
	_, _ = rand.NewChaCha8(key).Read(b) // never fails
	return b
}

// carry writes data to one end in random sizes, and reads it at the other end.
func carry(t *testing.T, seed uint64, from, to *lane.Stream, data []byte) {
	var both sync.WaitGroup
	both.Go(func() {
		r := rand.New(rand.NewPCG(seed, 9))
		for rest := data; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN([]int{10, 1000, 100_000}[r.IntN(3)]))
			m, err := from.Write(rest[:n])
			if err != nil || m != n {
				t.Errorf("wrote %d of %d: %v", m, n, err)
				return
			}
			rest = rest[n:]
		}
		if err := from.CloseWrite(); err != nil {
			t.Error(err)
		}
	})
	both.Go(func() {
		got, err := io.ReadAll(to)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("read %d of %d bytes, the same: %t, %v", len(got), len(data), bytes.HasPrefix(data, got), err)
		}
	})
	both.Wait()
}

// TestCarries carries streams in both directions at once, for each use of records.
func TestCarries(t *testing.T) {
	for name, use := range map[string]path.Use{"QUIC only": path.UseNone, "bulk by records": path.UseBulk, "records only": path.UseAll} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			p.setUse(use)
			var all sync.WaitGroup
			for n := range uint64(3) {
				s := p.openStream(t)
				data := noise(n, 1, 3<<20)
				all.Go(func() { carry(t, n, s[0], s[1], data) })
				all.Go(func() { carry(t, n, s[1], s[0], data) })
			}
			all.Wait()
			if sent := p.links[0].sent.Load(); (sent > 0) != (use != path.UseNone) {
				t.Errorf("%d records were sent", sent)
			}
			if wanted := p.links[0].wanted.Load(); (wanted > 0) != (use == path.UseNone) && use != path.UseBulk {
				t.Errorf("a better path was requested %d times", wanted)
			}
		})
	}
}

// TestFaults drops, repeats, corrupts and delays records, and changes the use of records again
// and again.
func TestFaults(t *testing.T) {
	for seed := range uint64(6) {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			for i, l := range p.links {
				var mu sync.Mutex
				r := rand.New(rand.NewPCG(seed, uint64(i)))
				var held [][]byte
				l.mangle = func(b []byte) [][]byte {
					mu.Lock()
					defer mu.Unlock()
					switch n := r.IntN(1000); {
					case n < 5:
						return nil
					case n < 10:
						return [][]byte{b, b}
					case n < 15:
						b[r.IntN(len(b))] ^= 1
					case n < 20:
						held = append(held, slices.Clone(b))
					case n < 40 && len(held) > 0:
						return [][]byte{held[r.IntN(len(held))], b}
					}
					return [][]byte{b}
				}
			}
			stop := make(chan struct{})
			var changer sync.WaitGroup
			changer.Go(func() {
				r := rand.New(rand.NewPCG(seed, 5))
				for {
					select {
					case <-stop:
						return
					case <-time.After(time.Duration(r.IntN(40)) * time.Millisecond):
						p.setUse(path.Use(r.IntN(3)))
					}
				}
			})
			var all sync.WaitGroup
			for n := range uint64(2) {
				s := p.openStream(t)
				data := noise(seed, n, 4<<20)
				all.Go(func() { carry(t, seed, s[0], s[1], data) })
				all.Go(func() { carry(t, seed, s[1], s[0], data) })
			}
			all.Wait()
			close(stop)
			changer.Wait()
		})
	}
}

// TestEndsWithTheWay loses all records at the end of a stream: QUIC carries their data.
func TestEndsWithTheWay(t *testing.T) {
	p := newPair(t)
	p.setUse(path.UseAll)
	s := p.openStream(t)
	p.links[0].mangle = func([]byte) [][]byte { return nil }
	data := noise(1, 1, 100_000)
	_, err := s[0].Write(data)
	ok(t, err)
	ok(t, s[0].CloseWrite())
	p.links[0].use.Store(int32(path.UseNone))
	p.lanes[0].Changed()
	got, err := io.ReadAll(s[1])
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestSlowWay has many streams share a path of 20 MB/s that drops excess records, as a relay
// does for a slow client. Most of the sent bytes must arrive.
func TestSlowWay(t *testing.T) {
	p := newPair(t)
	p.setUse(path.UseAll)
	var waiting, all, lost atomic.Int64
	p.links[0].mangle = func(b []byte) [][]byte {
		n := int64(len(b))
		all.Add(n)
		if waiting.Load() > 256<<10 {
			lost.Add(n)
			return nil
		}
		waiting.Add(n)
		return [][]byte{b}
	}
	p.links[0].slow = func(n int) {
		testwait.Pause(time.Duration(n) * time.Second / (20 << 20))
		waiting.Add(-int64(n))
	}
	var streams sync.WaitGroup
	for n := range uint64(30) {
		s := p.openStream(t)
		data := noise(n, 1, 1<<20)
		streams.Go(func() { carry(t, n, s[0], s[1], data) })
	}
	streams.Wait()
	if lost.Load() > all.Load()/5 {
		t.Errorf("%d of %d bytes were dropped", lost.Load(), all.Load())
	}
}

// TestTail loses the last records alone, so that no later record reveals the gap.
func TestTail(t *testing.T) {
	p := newPair(t)
	p.setUse(path.UseAll)
	s := p.openStream(t)
	var lost atomic.Int32
	p.links[0].mangle = func(b []byte) [][]byte {
		if lost.Add(1) <= 3 {
			return nil
		}
		return [][]byte{b}
	}
	_, err := s[0].Write(make([]byte, 50_000))
	ok(t, err)
	_, err = io.ReadFull(s[1], make([]byte, 50_000))
	ok(t, err)
}

// TestWaiting blocks a writer whose reader does not read, while other streams continue. All
// blocked writers must return when the stream or connection ends.
func TestWaiting(t *testing.T) {
	p := newPair(t)
	p.setUse(path.UseAll)
	s, other := p.openStream(t), p.openStream(t)
	ok(t, s[0].SetWriteDeadline(time.Now().Add(time.Second)))
	n, err := s[0].Write(make([]byte, 40<<20))
	if !errors.Is(err, os.ErrDeadlineExceeded) || n < 64<<10 || n > 2<<20 {
		t.Errorf("wrote %d bytes without a reader: %v", n, err)
	}
	carry(t, 1, other[0], other[1], make([]byte, 4<<20))

	for name, end := range map[string]func(p *pair, s [2]*lane.Stream){
		"the writer cancels":  func(_ *pair, s [2]*lane.Stream) { s[0].CancelWrite() },
		"the reader cancels":  func(_ *pair, s [2]*lane.Stream) { s[1].CancelRead() },
		"the connection ends": func(p *pair, _ [2]*lane.Stream) { _ = p.conns[1].CloseWithError(7, "over") },
	} {
		p := newPair(t)
		p.setUse(path.UseAll)
		s := p.openStream(t)
		failed := make(chan error, 1)
		go func() {
			_, err := s[0].Write(make([]byte, 40<<20))
			failed <- err
		}()
		end(p, s)
		if err := <-failed; err == nil {
			t.Errorf("%s: the writer got no error", name)
		}
	}
}

// TestUnread has many streams read for some time, so that their windows grow, and then not at
// all. The unread bytes stay bounded, and other streams continue.
func TestUnread(t *testing.T) {
	p := newPair(t)
	p.setUse(path.UseAll)
	var written atomic.Int64
	var read, writers sync.WaitGroup
	const streams, each = 30, 4 << 20
	for range streams {
		s := p.openStream(t)
		writers.Go(func() {
			for b := make([]byte, 50_000); ; {
				n, err := s[0].Write(b)
				written.Add(int64(n))
				if err != nil {
					return
				}
			}
		})
		read.Go(func() { _, _ = io.CopyN(io.Discard, s[1], each) })
	}
	read.Wait()
	for n := range uint64(3) {
		s := p.openStream(t)
		carry(t, n, s[0], s[1], noise(n, 1, 4<<20))
	}
	if left := written.Load() - streams*each; left > 40<<20 {
		t.Errorf("%d bytes are unread", left)
	}
	_ = p.conns[0].CloseWithError(0, "")
	writers.Wait()
}

// TestReader checks that deadlines and the end of either side wake a blocked reader.
func TestReader(t *testing.T) {
	p := newPair(t)
	p.setUse(path.UseAll)
	s := p.openStream(t)
	ok(t, s[0].SetReadDeadline(time.Now().Add(10*time.Millisecond)))
	if _, err := s[0].Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read after its deadline returned %v", err)
	}
	ok(t, s[0].SetReadDeadline(time.Time{}))
	read := func(s *lane.Stream) chan error {
		done := make(chan error, 1)
		go func() {
			_, err := s.Read(make([]byte, 1))
			done <- err
		}()
		return done
	}
	done := read(s[0])
	s[0].CancelRead()
	if err := <-done; !errors.Is(err, net.ErrClosed) {
		t.Errorf("a read after CancelRead returned %v", err)
	}
	done = read(s[1])
	s[0].CancelWrite()
	var reset *quic.StreamError
	if err := <-done; !errors.As(err, &reset) || !reset.Remote {
		t.Errorf("a read after the other side canceled returned %v", err)
	}
	if _, err := s[0].Write([]byte("x")); err == nil {
		t.Error("a write after CancelWrite succeeded")
	}
}

// TestForged passes corrupted records to lanes, and records sealed for the other direction.
func TestForged(t *testing.T) {
	p := newPair(t)
	p.setUse(path.UseAll)
	var seen [][]byte
	var mu sync.Mutex
	p.links[0].mangle = func(b []byte) [][]byte {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, slices.Clone(b))
		return [][]byte{b}
	}
	s := p.openStream(t)
	_, err := s[0].Write([]byte("secret of the stream"))
	ok(t, err)
	_, err = io.ReadFull(s[1], make([]byte, 20))
	ok(t, err)
	mu.Lock()
	defer mu.Unlock()
	if len(seen) == 0 {
		t.Fatal("no record was sent")
	}
	before := p.lanes[0].Stats()
	for _, b := range seen {
		if bytes.Contains(b, []byte("secret")) {
			t.Error("a record contains plaintext")
		}
		p.lanes[0].Record(b) // back to its sender
		for i := range b {
			c := slices.Clone(b)
			c[i] ^= 0x80
			p.lanes[1].Record(c)
			p.lanes[1].Record(b[:i])
		}
	}
	if after := p.lanes[0].Stats(); after.RxRecords != before.RxRecords {
		t.Errorf("%d records of the other direction were accepted", after.RxRecords-before.RxRecords)
	}
}

// FuzzRecord passes arbitrary bytes to a lane, also as content that the other end has sealed.
func FuzzRecord(f *testing.F) {
	p := newPair(f)
	p.setUse(path.UseAll)
	s := p.openStream(f)
	go func() { _, _ = io.Copy(io.Discard, s[1]) }()
	f.Add([]byte{})
	f.Add([]byte("\x23 a record of nobody, which is long enough for one"))
	f.Add(append([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 40)...))
	f.Add(append([]byte{2}, make([]byte, 64)...))
	f.Add(append([]byte{1}, bytes.Repeat([]byte{255}, 60)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		p.lanes[1].Record(b)
		p.lanes[1].Record(lane.Seal(p.lanes[0], b))
		p.lanes[0].Record(lane.Seal(p.lanes[1], b))
	})
}
