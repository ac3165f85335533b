package provisionapi_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/hashicorp/yamux"
	"google.golang.org/protobuf/proto"
	"storj.io/drpc"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcwire"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/provisionapi"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

func TestTenThousandTags(t *testing.T) {
	w := newTown(t)
	var q strings.Builder
	q.WriteString("version=1.14&name=d&provisioner=echo")
	tags := map[string]string{}
	for i := range 10_000 {
		fmt.Fprintf(&q, "&tag=k%d%%3Dv", i)
		tags[fmt.Sprint("k", i)] = "v"
		if n := i + 1; n == 65 || n == 9_000 || n == 10_000 {
			status, body := w.knock(t, "default", q.String(), map[string]string{provisionapi.PSKHeader: psk})
			if status != http.StatusBadRequest || len(body.Validations) != 1 || !strings.Contains(body.Validations[0].Detail, "at most 64 tags") {
				t.Errorf("%d tags: status %d, %+v", n, status, body)
			}
		}
	}
	if _, err := w.ring.Create(t.Context(), w.ownerSubject, w.org, codersdk.CreateProvisionerKeyRequest{Name: "many", Tags: tags}); !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Error("a key of ten thousand tags:", err)
	}
}

// raw opens an admitted WebSocket over which nothing was said yet.
func (w *town) raw(t *testing.T, capabilities ...string) *websocket.Conn {
	t.Helper()
	cl := *w.client
	cl.Header = http.Header{provisionapi.PSKHeader: {psk}}
	ws, err := cl.Dial(t.Context(), "/organizations/default/provisionerdaemons/serve", url.Values{"name": {"raw"}, "provisioner": {"echo"}, "capability": capabilities})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.CloseNow() }) //nolint:errcheck // it may be closed
	return ws
}

func session(t testing.TB, c net.Conn) *yamux.Session {
	t.Helper()
	conf := yamux.DefaultConfig()
	conf.LogOutput = io.Discard
	s, err := yamux.Client(c, conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// header is that of a yamux frame.
func header(version, kind byte, flags uint16, stream, length uint32) []byte {
	b := []byte{version, kind}
	b = binary.BigEndian.AppendUint16(b, flags)
	b = binary.BigEndian.AppendUint32(b, stream)
	return binary.BigEndian.AppendUint32(b, length)
}

// TestGarbageFrames sends every kind of nonsense while another daemon works:
// the connection ends, the log has one line of it, and the work goes on.
func TestGarbageFrames(t *testing.T) {
	w := newTown(t)
	w.daemon(t, nil)
	noise := make([]byte, 64<<10)
	r := rand.NewChaCha8([32]byte{7})
	r.Read(noise) //nolint:errcheck // never fails
	for name, send := range map[string]func(ctx context.Context, ws *websocket.Conn) error{
		"text": func(ctx context.Context, ws *websocket.Conn) error {
			return ws.Write(ctx, websocket.MessageText, []byte("hello"))
		},
		"noise": func(ctx context.Context, ws *websocket.Conn) error {
			return ws.Write(ctx, websocket.MessageBinary, noise)
		},
		"another yamux": func(ctx context.Context, ws *websocket.Conn) error {
			return ws.Write(ctx, websocket.MessageBinary, header(9, 0, 1, 1, 0))
		},
		"unknown frame": func(ctx context.Context, ws *websocket.Conn) error {
			return ws.Write(ctx, websocket.MessageBinary, header(0, 9, 1, 1, 0))
		},
		"data for a stream that is not": func(ctx context.Context, ws *websocket.Conn) error {
			// A window that is overrun breaks the session.
			return ws.Write(ctx, websocket.MessageBinary, append(header(0, 0, 1, 1, 1<<30), noise...))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w.log.take()
			id := w.add(t, build, map[string]string{"plan.jsonl": `{"log": {"output": "here"}}` + "\n" + `{"sleep": "300ms"}`})
			w.says(t, id, "here")
			ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
			defer cancel()
			ws := w.raw(t)
			if err := send(ctx, ws); err != nil {
				t.Fatal(err)
			}
			var err error
			for err == nil {
				_, _, err = ws.Read(ctx)
			}
			if ctx.Err() != nil {
				t.Error("the connection stays open")
			}
			if j, _ := w.ends(t, id); j.Status != codersdk.ProvisionerJobStatusSucceeded {
				t.Errorf("another daemon was disturbed: %s", j.Error)
			}
			if got := w.log.wait(t); len(got) != 1 || !strings.Contains(got[0], "provisioner connection failed") {
				t.Errorf("the log has %q", got)
			}
		})
	}
}

// TestGarbageCalls sends nonsense within streams that are in order: the stream
// ends, or the call is refused, and the connection goes on.
func TestGarbageCalls(t *testing.T) {
	w := newTown(t)
	s := session(t, websocket.NetConn(t.Context(), w.raw(t), websocket.MessageBinary))
	noise := make([]byte, 1<<20)
	r := rand.NewChaCha8([32]byte{8})
	r.Read(noise) //nolint:errcheck // never fails
	huge := drpcwire.AppendFrame(nil, drpcwire.Frame{Kind: drpcwire.KindInvoke, ID: drpcwire.ID{Stream: 1, Message: 1}, Done: true, Data: []byte("/provisionerd.ProvisionerDaemon/UpdateJob")})
	for range provisionerd.MaxMessage>>22 + 1 { // one message, 4 MiB beyond the limit
		huge = append(huge, drpcwire.AppendFrame(nil, drpcwire.Frame{Kind: drpcwire.KindMessage, ID: drpcwire.ID{Stream: 1, Message: 2}, Data: bytes.Repeat([]byte("x"), 4<<20)})...)
	}
	w.log.take()
	for name, data := range map[string][]byte{"noise": noise, "zeros": make([]byte, 1000), "a message without an end": huge} {
		again := 3
		if len(data) > provisionerd.MaxMessage {
			again = 1 // the race detector takes seconds for each
		}
		for range again {
			st, err := s.OpenStream()
			if err != nil {
				t.Fatal(name, err)
			}
			st.SetDeadline(time.Now().Add(testwait.Limit)) //nolint:errcheck // a yamux stream always can
			go func() {
				st.Write(data) //nolint:errcheck // it is refused midway
				st.Close()
			}()
			if _, err := io.Copy(io.Discard, st); err != nil && !strings.Contains(err.Error(), "reset") {
				t.Errorf("%s: the stream stays open: %v", name, err)
			}
		}
	}
	if got := w.log.take(); len(got) != 1 {
		t.Errorf("the log has %q", got)
	}
	// What is a call, but of nonsense.
	for _, c := range []struct{ rpc, data, want string }{
		{"/provisionerd.ProvisionerDaemon/Nope", "", "unknown rpc"},
		{"", "", "unknown rpc"},
		{"/provisionerd.ProvisionerDaemon/UpdateJob", "\xff\xff\xff", "cannot parse"},
		{"/provisionerd.ProvisionerDaemon/UpdateJob", "\x0a\x02\xff\xfe", "UTF-8"},
		{"/provisionerd.ProvisionerDaemon/UpdateJob", "\x0a\x08nonsense", "not a UUID"},
		{"/provisionerd.ProvisionerDaemon/CompleteJob", "\x0a\x7fx", "cannot parse"},
		{"/provisionerd.ProvisionerDaemon/FailJob", "", "not a UUID"},
		{"/provisionerd.Extensions/Recover", "\x0a\x04nope", "not a UUID"},
		{"/provisionerd.Extensions/AwaitInterruption", "\x0a\x04nope", "not a UUID"},
	} {
		_, err := invoke(t.Context(), s, c.rpc, []byte(c.data))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s(%q): %v, want %q", c.rpc, c.data, err, c.want)
		}
	}
	if _, err := invoke(t.Context(), s, "/provisionerd.ProvisionerDaemon/CommitQuota", nil); err != nil {
		t.Error("the connection is of no use any more:", err)
	}
}

// rawBytes puts bytes onto the wire as they are.
type rawBytes struct{}

func (rawBytes) Marshal(m drpc.Message) ([]byte, error)   { return *m.(*[]byte), nil }
func (rawBytes) Unmarshal(b []byte, m drpc.Message) error { *m.(*[]byte) = bytes.Clone(b); return nil }

// invoke makes a call with the bytes of its request.
func invoke(ctx context.Context, s *yamux.Session, rpc string, in []byte) ([]byte, error) {
	st, err := s.OpenStream()
	if err != nil {
		return nil, err
	}
	c := drpcconn.New(st)
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, testwait.Limit)
	defer cancel()
	var out []byte
	return out, c.Invoke(ctx, rpc, rawBytes{}, &in, &out)
}

// TestEndlessLogs sends 100 MB of log, lines of 5 MB among them, past the
// daemon's own limits: the server keeps its share and says so, and the job goes on.
func TestEndlessLogs(t *testing.T) {
	w := newTown(t)
	s := session(t, websocket.NetConn(t.Context(), w.raw(t), websocket.MessageBinary))
	id := w.add(t, build, nil)
	if _, err := invoke(t.Context(), s, "/provisionerd.ProvisionerDaemon/AcquireJob", nil); err != nil {
		t.Fatal(err)
	}
	req := &provisionerd.UpdateJobRequest{JobId: id.String()}
	req.Logs = []*provisionerd.Log{{Output: "first"}, {Output: strings.Repeat("w", 5_000_000)}}
	for i := range 20 {
		if i > 0 {
			req.Logs = slices.Repeat([]*provisionerd.Log{{Stage: strings.Repeat("s", 5000), Output: strings.Repeat("x", 50_000)}}, 100)
		}
		b, err := proto.Marshal(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := invoke(t.Context(), s, "/provisionerd.ProvisionerDaemon/UpdateJob", b); err != nil {
			t.Fatal(err)
		}
	}
	b, err := proto.Marshal(&provisionerd.CompletedJob{JobId: id.String(), Type: &provisionerd.CompletedJob_WorkspaceBuild_{WorkspaceBuild: &provisionerd.CompletedJob_WorkspaceBuild{}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := invoke(t.Context(), s, "/provisionerd.ProvisionerDaemon/CompleteJob", b); err != nil {
		t.Fatal(err)
	}
	j, logs := w.ends(t, id)
	if j.Status != codersdk.ProvisionerJobStatusSucceeded || !j.LogsOverflowed {
		t.Fatalf("job ended as %s, overflowed %v: %s", j.Status, j.LogsOverflowed, j.Error)
	}
	size := 0
	for _, l := range logs {
		size += len(l.Output) + len(l.Stage)
	}
	if size > 1<<20+1000 || logs[0].Output != "first" {
		t.Errorf("%d bytes of log were kept, the first line is %q", size, logs[0].Output)
	}
	if l := logs[1].Output; len(l) > 66_000 || !strings.Contains(l, "4934464 bytes cut") {
		t.Errorf("of the line of 5 MB %d bytes are left, which end with %q", len(l), l[len(l)-40:])
	}
	if last := logs[len(logs)-1].Output; !strings.Contains(last, "has reached its limit") {
		t.Errorf("the last line is %q", last)
	}
}

// TestNeverReads acquires a job that is larger than what the line takes on its
// own, and reads nothing of it: another daemon gets the job.
func TestNeverReads(t *testing.T) {
	w := newTown(t)
	s := session(t, websocket.NetConn(t.Context(), w.raw(t), websocket.MessageBinary))
	st, err := s.OpenStream()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []drpcwire.Frame{
		{Kind: drpcwire.KindInvoke, ID: drpcwire.ID{Stream: 1, Message: 1}, Done: true, Data: []byte("/provisionerd.ProvisionerDaemon/AcquireJobWithCancel")},
	} {
		if _, err := st.Write(drpcwire.AppendFrame(nil, f)); err != nil {
			t.Fatal(err)
		}
	}
	id := w.add(t, build, map[string]string{"readme.md": strings.Repeat("x", 280<<10)})
	w.worker(t, id, "raw")
	w.daemon(t, nil)
	j, _ := w.ends(t, id)
	if j.Status != codersdk.ProvisionerJobStatusSucceeded || j.WorkerName != "builtin" {
		t.Fatalf("job ended as %s on %s: %s", j.Status, j.WorkerName, j.Error)
	}
	if got := w.log.take(); len(got) != 1 || !strings.Contains(got[0], "did not read it") {
		t.Errorf("the log has %q", got)
	}
}

// worker waits until a job is held by the daemon of that name.
func (h *house) worker(t testing.TB, id uuid.UUID, name string) {
	t.Helper()
	testwait.Until(t, "the job is held by "+name, func() bool {
		j, err := h.queue.Job(t.Context(), h.store.Queries, id)
		return err == nil && j.WorkerName == name
	})
}

// TestAcquiresAndIsSilent takes a small job and never says a word about it.
func TestAcquiresAndIsSilent(t *testing.T) {
	w := newTownWith(t, 2*time.Second)
	for _, kind := range []codersdk.ProvisionerJobType{build, imp} {
		s := session(t, websocket.NetConn(t.Context(), w.raw(t, "lease"), websocket.MessageBinary))
		id := w.add(t, kind, nil)
		if _, err := invoke(t.Context(), s, "/provisionerd.ProvisionerDaemon/AcquireJob", nil); err != nil {
			t.Fatal(err)
		}
		d := w.daemon(t, nil)
		j, _ := w.ends(t, id)
		if j.Status != codersdk.ProvisionerJobStatusSucceeded || j.WorkerName != "builtin" {
			t.Fatalf("%s ended as %s on %s: %s", kind, j.Status, j.WorkerName, j.Error)
		}
		if err := d.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
