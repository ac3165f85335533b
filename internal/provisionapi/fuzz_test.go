package provisionapi_test

import (
	"bytes"
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcerr"
	"storj.io/drpc/drpcwire"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/provisionapi"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// wireCalls are the calls of the wire by their number in the fuzz corpus.
var wireCalls = []string{
	"/provisionerd.ProvisionerDaemon/UpdateJob", "/provisionerd.ProvisionerDaemon/FailJob", "/provisionerd.ProvisionerDaemon/CompleteJob",
	"/provisionerd.ProvisionerDaemon/CommitQuota", "/provisionerd.ProvisionerDaemon/AcquireJobWithCancel",
	"/provisionerd.ProvisionerDaemon/UploadFile", "/provisionerd.ProvisionerDaemon/DownloadFile",
	"/provisionerd.Extensions/Recover", "/provisionerd.Extensions/AwaitInterruption",
}

// The jobs of the fuzz targets: one that the daemon holds, in whatever state
// the call before left it, and one that another holds.
var heldJob, othersJob = uuid.MustParse("11111111-1111-4111-8111-111111111111"), uuid.MustParse("22222222-2222-4222-8222-222222222222")

func fuzzSeeds(f *testing.F) {
	add := func(call int, m proto.Message) {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(byte(call), b)
	}
	for _, id := range []string{heldJob.String(), othersJob.String()} {
		add(0, &provisionerd.UpdateJobRequest{JobId: id, Fence: 1, Logs: []*provisionerd.Log{{Output: "x", Stage: "y", CreatedAt: 1 << 62, Level: 99, Source: 99}}, State: []byte("no gzip"), Readme: []byte{0}})
		add(1, &provisionerd.FailedJob{JobId: id, Fence: 1, Error: "e\x00\u2028", ErrorCode: strings.Repeat("c", 300), Type: &provisionerd.FailedJob_WorkspaceBuild_{WorkspaceBuild: &provisionerd.FailedJob_WorkspaceBuild{State: []byte("s"), Timings: []*provisioner.Timing{{}}}}})
		add(2, &provisionerd.CompletedJob{JobId: id, Fence: 1, Type: &provisionerd.CompletedJob_WorkspaceBuild_{WorkspaceBuild: &provisionerd.CompletedJob_WorkspaceBuild{State: []byte("s"), Resources: []*provisioner.Resource{{Name: "n", Agents: []*provisioner.Agent{{}, nil}}}, Timings: []*provisioner.Timing{nil, {Stage: "s"}}}}})
		add(2, &provisionerd.CompletedJob{JobId: id, Fence: 1, Type: &provisionerd.CompletedJob_TemplateImport_{}})
		add(7, &provisionerd.Leftover{JobId: id, Fence: 1, State: []byte("x")})
		add(8, &provisionerd.JobClaim{JobId: id, Fence: 2})
	}
	add(3, &provisionerd.CommitQuotaRequest{JobId: "x", DailyCost: -1})
	add(4, &provisionerd.CancelAcquire{})
	add(5, describe([]byte("abc"), 1))
	add(5, piece([]byte("abc"), []byte("abc"), 0))
	add(6, &provisionerd.FileRequest{FileId: heldJob.String(), UploadType: 1})
	f.Add(byte(0), []byte("\xff\xff\xff\xff"))
}

// fuzzHouse is a house with a daemon that holds heldJob, and another that
// holds othersJob.
func fuzzHouse(f *testing.F) (h *house, dial func(testing.TB) net.Conn) {
	f.Helper()
	h = newHouse(f, queue.Config{Lease: time.Hour, Reap: time.Hour})
	dial = func(t testing.TB) net.Conn {
		here, there := net.Pipe()
		d := provisionapi.BuiltIn(h.org, "fuzz", "v0", []string{"echo"})
		go h.ServeConn(context.Background(), there, d) //nolint:errcheck // it is to break
		t.Cleanup(func() { here.Close() })
		return here
	}
	h.addFixed(f, heldJob)
	h.addFixed(f, othersJob)
	h.sql(f, `UPDATE provisioner_jobs SET started_at = now(), worker_id = gen_random_uuid(), worker_name = 'other', fence = 1, lease_ms = 3600000, lease_expires_at = now() + interval '1 day' WHERE id = $1`, othersJob)
	return h, dial
}

// hold makes the fuzzing daemon the holder of its job again.
func (h *house) hold(t testing.TB) {
	t.Helper()
	h.sql(t, `UPDATE provisioner_jobs SET completed_at = NULL, canceled_at = NULL, error = '', error_code = '', started_at = now(), worker_name = 'fuzz', fence = 1,
		lease_ms = 3600000, lease_expires_at = now() + interval '1 day', worker_id = (SELECT id FROM provisioner_daemons WHERE name = 'fuzz') WHERE id = $1`, heldJob)
	h.sql(t, `UPDATE provisioner_jobs SET updated_at = now() WHERE id = $1`, othersJob) // its holder is alive
}

// unharmed checks that no job was changed and nothing panicked.
func (h *house) unharmed(t *testing.T) {
	t.Helper()
	row, err := h.store.QueueJob(t.Context(), othersJob)
	if err != nil {
		t.Fatal(err)
	}
	if j := row.ProvisionerJob; j.WorkerName != "other" || j.Status != "running" || j.Fence != 1 || j.LogsLength != 0 {
		t.Fatalf("another daemon's job became %+v", j)
	}
	if i := slices.IndexFunc(h.log.take(), func(l string) bool { return strings.Contains(l, "panic") }); i >= 0 {
		t.Fatal("a call panicked")
	}
}

// FuzzCalls sends raw requests to each call of the wire. None may panic, none
// may touch another daemon's job, and what is wrong is refused as such.
func FuzzCalls(f *testing.F) {
	fuzzSeeds(f)
	h, dial := fuzzHouse(f)
	s := session(f, dial(f))
	if _, err := invoke(f.Context(), s, wireCalls[3], nil); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, call byte, data []byte) {
		h.hold(t)
		rpc := wireCalls[int(call)%len(wireCalls)]
		st, err := s.OpenStream()
		if err != nil {
			t.Fatal(err)
		}
		c := drpcconn.New(st)
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
		defer cancel()
		calls, err := c.NewStream(ctx, rpc, rawBytes{})
		if err != nil {
			t.Fatal(err)
		}
		defer calls.Close()
		if err := calls.MsgSend(&data, rawBytes{}); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(rpc, "AwaitInterruption") {
			h.sql(t, `UPDATE provisioner_jobs SET canceled_at = now() WHERE id = $1`, heldJob) // or it waits
			var claim provisionerd.JobClaim
			if proto.Unmarshal(data, &claim) == nil {
				return
			}
		}
		if err := calls.CloseSend(); err != nil {
			t.Fatal(err)
		}
		var out []byte
		if err := calls.MsgRecv(&out, rawBytes{}); err != nil && strings.Contains(err.Error(), "server's log has the cause") {
			t.Fatalf("%s: nonsense is taken for a failure of the server (code %d): %v, %q", rpc, drpcerr.Code(err), err, h.log.take())
		}
		h.unharmed(t)
	})
}

// FuzzStream sends raw bytes where a call is expected, and then a call.
func FuzzStream(f *testing.F) {
	f.Add([]byte("garbage"))
	f.Add(bytes.Repeat([]byte{0}, 100))
	for i, rpc := range wireCalls {
		b := drpcwire.AppendFrame(nil, drpcwire.Frame{Kind: drpcwire.KindInvoke, ID: drpcwire.ID{Stream: 1, Message: 1}, Done: true, Data: []byte(rpc)})
		f.Add(b)
		f.Add(drpcwire.AppendFrame(b, drpcwire.Frame{Kind: drpcwire.Kind(i), ID: drpcwire.ID{Stream: 1, Message: 2}, Done: true, Control: i%2 == 0, Data: []byte("x")}))
	}
	h, dial := fuzzHouse(f)
	s := session(f, dial(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		st, err := s.OpenStream()
		if err != nil {
			t.Fatal(err)
		}
		st.SetDeadline(time.Now().Add(testwait.Limit)) //nolint:errcheck // a yamux stream always can
		if _, err := st.Write(data); err == nil {
			st.Close()
		}
		if _, err := invoke(t.Context(), s, wireCalls[3], nil); err != nil {
			t.Fatal("the connection is of no use any more:", err)
		}
		h.unharmed(t)
	})
}
