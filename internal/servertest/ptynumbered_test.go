package servertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// numbered is a viewer that numbers what it sends, counts what it gets, and
// goes on where it was cut off: what the dashboard does.
type numbered struct {
	t       *testing.T
	c       *codersdk.Client
	agent   uuid.UUID
	q       url.Values
	conn    *websocket.Conn
	session uuid.UUID
	output  []byte // all that was shown, but for paint
	offset  int64
	skip    int // bytes of paint that come next
	painted int // how often the screen was drawn again
	seq     int64
	pending []codersdk.ReconnectingPTYRequest // sent, and not known to have taken effect
}

func newNumbered(t *testing.T, c *codersdk.Client, agent uuid.UUID) *numbered {
	return &numbered{t: t, c: c, agent: agent, q: url.Values{"reconnect": {uuid.NewString()}, "viewer": {uuid.NewString()}, "width": {"100"}, "height": {"30"}}}
}

// connect dials, learns where things stand, and sends again what was lost.
func (v *numbered) connect() {
	v.t.Helper()
	if v.session != uuid.Nil {
		v.q.Set("session", v.session.String())
		v.q.Set("offset", fmt.Sprint(v.offset))
	}
	var err error
	v.conn, err = v.c.Dial(v.t.Context(), "/workspaceagents/"+v.agent.String()+"/pty", v.q)
	must(v.t, err)
	v.conn.SetReadLimit(8 << 20)
	v.t.Cleanup(func() { v.conn.CloseNow() }) //nolint:errcheck // the test is over
	v.read(v.t.Context())
	for _, m := range v.pending {
		v.put(m)
	}
}

func (v *numbered) cut() { v.conn.CloseNow() } //nolint:errcheck // cut on purpose

func (v *numbered) put(m codersdk.ReconnectingPTYRequest) {
	b, err := json.Marshal(m)
	must(v.t, err)
	v.conn.Write(v.t.Context(), websocket.MessageText, b) //nolint:errcheck // it is sent again
}

func (v *numbered) send(text string) {
	v.seq++
	m := codersdk.ReconnectingPTYRequest{Data: text, Seq: v.seq}
	v.pending = append(v.pending, m)
	v.put(m)
}

// read takes one message.
func (v *numbered) read(ctx context.Context) {
	v.t.Helper()
	kind, b, err := v.conn.Read(ctx)
	if err != nil {
		v.t.Fatalf("%v; seen:\n%s", err, v.output)
	}
	if kind == websocket.MessageBinary {
		n := min(v.skip, len(b))
		v.skip -= n
		v.output = append(v.output, b[n:]...)
		v.offset += int64(len(b) - n)
		return
	}
	var s codersdk.ReconnectingPTYStatus
	must(v.t, json.Unmarshal(b, &s))
	if s.Session != v.session || s.Repaint {
		if v.session != uuid.Nil {
			v.painted++
		}
		v.session, v.offset, v.skip = s.Session, s.Output, s.Paint
	}
	if s.Output != v.offset {
		v.t.Errorf("the terminal is at %d, we at %d", s.Output, v.offset)
	}
	for len(v.pending) > 0 && v.pending[0].Seq <= s.Input {
		v.pending = v.pending[1:]
	}
}

func (v *numbered) until(what string, done func() bool) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), testwait.Limit)
	defer cancel()
	for !done() {
		if ctx.Err() != nil {
			v.t.Fatalf("not within 30 s: %s", what)
		}
		v.read(ctx)
	}
}

// Whatever is cut off and when, all that is typed is typed once and in order,
// and all that is printed is seen once and in order.
func TestNothingIsLostOrRepeatedOverCuts(t *testing.T) {
	s := servertest.Start(t, nil)
	agentID := withAgent(t, s)
	v := newNumbered(t, s.Client, agentID)
	v.q.Set("command", `stty -echo; echo ready; while read -r line; do eval "$line"; done`)
	v.connect()
	v.until("the shell is ready", func() bool { return bytes.Contains(v.output, []byte("ready")) })
	v.until("the end of its line", func() bool { return bytes.HasSuffix(v.output, []byte("\n")) })
	v.output = nil
	r := rand.New(rand.NewPCG(1, 2))
	var want strings.Builder
	const lines = 200
	for i := range lines {
		v.send(fmt.Sprintf("echo line-%d; seq -s, %d\r", i, 1+i%50))
		fmt.Fprintf(&want, "line-%d\r\n", i)
		for n := range 1 + i%50 {
			fmt.Fprintf(&want, "%d", n+1)
			if n < i%50 {
				want.WriteByte(',')
			}
		}
		want.WriteString("\r\n")
		switch r.IntN(6) {
		case 0:
			v.cut()
			v.connect()
		case 1:
			v.until("some output", func() bool { return len(v.output) > 0 })
		case 2: // typed while nobody listens
			v.cut()
		}
		if r.IntN(3) == 0 {
			v.cut()
			v.connect()
		}
	}
	v.cut()
	v.connect()
	v.until("all lines", func() bool { return len(v.output) >= want.Len() })
	if string(v.output) != want.String() {
		t.Errorf("seen\n%.2000s\nwant\n%.2000s", v.output, want.String())
	}
	v.until("all is known to be typed", func() bool { return len(v.pending) == 0 })
	if v.painted != 0 {
		t.Errorf("the screen was drawn anew %d times for what was not missed", v.painted)
	}

	// More is missed than is kept: the screen is drawn again.
	v.send("seq 1 200000; echo en''d\r")
	v.cut()
	plain := open(t, s.Client, agentID, url.Values{"reconnect": v.q["reconnect"], "width": {"100"}, "height": {"30"}})
	plain.see("end")
	v.connect()
	if v.painted != 1 {
		t.Errorf("drawn anew %d times", v.painted)
	}
	v.output = nil
	v.send("echo go''es on\r")
	v.until("it goes on", func() bool { return bytes.Contains(v.output, []byte("goes on")) })

	// The shell ends while nobody looks: what comes is another.
	was := v.session
	v.send("exit\r")
	for range 100 {
		if _, _, err := v.conn.Read(t.Context()); err != nil {
			break
		}
	}
	v.cut()
	v.connect()
	if v.session == was {
		t.Error("an ended shell was come back to")
	}
}

// A viewer that comes while a full-screen program runs sees it as it is, and
// what was there before when it ends.
func TestFullScreenProgramsAreRestored(t *testing.T) {
	s := servertest.Start(t, nil)
	agentID := withAgent(t, s)
	q := url.Values{"reconnect": {uuid.NewString()}, "width": {"80"}, "height": {"24"}}
	first := open(t, s.Client, agentID, q)
	first.send(codersdk.ReconnectingPTYRequest{Data: `echo bef''ore; printf '\033[?1049h\033[?1h\033[5;5Hfull\033[10;1H'; for i in $(seq 30000); do printf '\033[7;3H%06d' $i; done; printf '\033[8;1Hdone'; read x; printf '\033[?1049l'` + "\r"})
	first.see("\x1b[8;1Hdone")
	second := open(t, s.Client, agentID, q)
	second.see("done")
	for _, want := range []string{"\x1bc", "before", "\x1b[?1049h", "full", "030000", "\x1b[?1h"} {
		second.see(want)
	}
	if len(second.seen) > 10000 || strings.Contains(second.seen, "029999") {
		t.Errorf("%d bytes bring it back", len(second.seen))
	}
	second.send(codersdk.ReconnectingPTYRequest{Data: "\r"})
	second.see("\x1b[?1049l")
}

// A viewer that takes nothing does not hold up the others for long.
func TestAStuckViewerIsLetGo(t *testing.T) {
	s := servertest.Start(t, nil)
	agentID := withAgent(t, s)
	q := url.Values{"reconnect": {uuid.NewString()}}
	open(t, s.Client, agentID, q) // reads nothing
	lively := open(t, s.Client, agentID, q)
	lively.send(codersdk.ReconnectingPTYRequest{Data: "seq 1 1000000; echo en''d\r"}) // more than all the buffers before the first
	lively.conn.SetReadLimit(-1)
	var last []byte
	for !bytes.Contains(last, []byte("end")) {
		ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
		_, b, err := lively.conn.Read(ctx)
		cancel()
		must(t, err)
		last = append(last[max(0, len(last)-10):], b...)
	}
}

func TestOnlyOneTerminalAnswers(t *testing.T) {
	s := servertest.Start(t, nil)
	agentID := withAgent(t, s)
	q := url.Values{"reconnect": {uuid.NewString()}}
	first := open(t, s.Client, agentID, q)
	second := open(t, s.Client, agentID, q)
	first.send(codersdk.ReconnectingPTYRequest{Data: `printf '\033[6n'; read -r x; echo "got $x" | cat -v` + "\r"})
	first.see("\x1b[6n")
	second.see("\x1b[6n")
	second.send(codersdk.ReconnectingPTYRequest{Data: "\x1b[9;9R"})
	first.send(codersdk.ReconnectingPTYRequest{Data: "\x1b[3;1R"})
	first.send(codersdk.ReconnectingPTYRequest{Data: "\r"})
	first.see("got ^[[3;1R")
}
