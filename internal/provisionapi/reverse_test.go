package provisionapi_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/hashicorp/yamux"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"storj.io/drpc"
	"storj.io/drpc/drpcerr"
	"storj.io/drpc/drpcserver"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	daemon "github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// upstreamServer is a server of the original protocol, made from the contract
// file alone: it knows no field and no call of ours.
type upstreamServer struct {
	*upstream
	old   bool // without AcquireJobWithCancel
	jobs  chan *dynamicpb.Message
	ended chan *dynamicpb.Message // CompletedJob or FailedJob
	file  []byte                  // what DownloadFile gives

	mu       sync.Mutex
	cancel   bool // the answer to updates
	lines    []string
	vars     int // template variables that were told
	quota    int32
	uploaded []byte
}

func newUpstreamServer(t *testing.T, old bool) (*upstreamServer, *codersdk.Client) {
	t.Helper()
	u := &upstreamServer{upstream: &upstream{t: t, files: contractFiles(t)}, old: old, jobs: make(chan *dynamicpb.Message, 1), ended: make(chan *dynamicpb.Message, 1), file: bytes.Repeat([]byte("modules "), 600_000)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v2/organizations/{o}/provisionerdaemons/serve", func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("version") != "1.14" || q.Get("name") != "ours" || q.Get("provisioner") != "echo" || q.Get("tag") != "a=b" || r.Header.Get("Coder-Provisioner-Daemon-PSK") != psk || r.PathValue("o") != "default" {
			t.Errorf("the daemon came with %s %v", r.URL, r.Header)
		}
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		ws.SetReadLimit(4 << 20)
		u.serve(r.Context(), websocket.NetConn(r.Context(), ws, websocket.MessageBinary))
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	at, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u, codersdk.New(at)
}

func (u *upstreamServer) serve(ctx context.Context, c net.Conn) {
	conf := yamux.DefaultConfig()
	conf.LogOutput = io.Discard
	s, err := yamux.Server(c, conf)
	if err != nil {
		return
	}
	defer s.Close()
	for {
		st, err := s.AcceptStreamWithContext(ctx)
		if err != nil {
			return
		}
		go drpcserver.New(u).ServeOne(ctx, st) //nolint:errcheck // the end of a stream
	}
}

// take receives a message, in which nothing may be unknown.
func (u *upstreamServer) take(s drpc.Stream, name string) (*dynamicpb.Message, error) {
	m := u.message(name)
	if err := s.MsgRecv(m, codec{}); err != nil {
		return nil, err
	}
	u.known(m)
	return m, nil
}

func (u *upstreamServer) known(m protoreflect.Message) {
	if len(m.GetUnknown()) > 0 {
		u.t.Errorf("a %s has fields that the contract does not know: %x", m.Descriptor().FullName(), m.GetUnknown())
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap() || f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				u.known(v.List().Get(i).Message())
			}
		default:
			u.known(v.Message())
		}
		return true
	})
}

func (u *upstreamServer) HandleRPC(s drpc.Stream, rpc string) error {
	switch rpc {
	case "/provisionerd.ProvisionerDaemon/AcquireJobWithCancel", "/provisionerd.ProvisionerDaemon/AcquireJob":
		return u.acquireJob(s, rpc)
	case "/provisionerd.ProvisionerDaemon/UpdateJob":
		return u.updateJob(s)
	case "/provisionerd.ProvisionerDaemon/CommitQuota":
		m, err := u.take(s, "provisionerd.CommitQuotaRequest")
		if err != nil {
			return err
		}
		u.mu.Lock()
		u.quota = int32(get(m, "daily_cost").Int())
		u.mu.Unlock()
		out := u.message("provisionerd.CommitQuotaResponse")
		set(out, "ok", true)
		return s.MsgSend(out, codec{})
	case "/provisionerd.ProvisionerDaemon/CompleteJob", "/provisionerd.ProvisionerDaemon/FailJob":
		name := "provisionerd.CompletedJob"
		if rpc == "/provisionerd.ProvisionerDaemon/FailJob" {
			name = "provisionerd.FailedJob"
		}
		m, err := u.take(s, name)
		if err != nil {
			return err
		}
		u.ended <- m
		return s.MsgSend(u.message("provisionerd.Empty"), codec{})
	case "/provisionerd.ProvisionerDaemon/UploadFile":
		return u.uploadFile(s)
	case "/provisionerd.ProvisionerDaemon/DownloadFile":
		return u.downloadFile(s)
	}
	return drpcerr.WithCode(errors.New("unknown rpc: "+rpc), drpcerr.Unimplemented)
}

func (u *upstreamServer) acquireJob(s drpc.Stream, rpc string) error {
	gone := make(chan struct{})
	if rpc == "/provisionerd.ProvisionerDaemon/AcquireJobWithCancel" {
		if u.old {
			return drpcerr.WithCode(errors.New("unknown rpc"), drpcerr.Unimplemented)
		}
		go func() {
			defer close(gone)
			u.take(s, "provisionerd.CancelAcquire") //nolint:errcheck // either way
		}()
	} else if _, err := u.take(s, "provisionerd.Empty"); err != nil {
		return err
	}
	select {
	case job := <-u.jobs:
		return s.MsgSend(job, codec{})
	case <-gone:
	case <-s.Context().Done():
	case <-time.After(5 * time.Second):
	}
	return s.MsgSend(u.message("provisionerd.AcquiredJob"), codec{})
}

func (u *upstreamServer) updateJob(s drpc.Stream) error {
	m, err := u.take(s, "provisionerd.UpdateJobRequest")
	if err != nil {
		return err
	}
	out := u.message("provisionerd.UpdateJobResponse")
	u.mu.Lock()
	defer u.mu.Unlock()
	logs := get(m, "logs").List()
	for i := range logs.Len() {
		u.lines = append(u.lines, get(logs.Get(i).Message(), "output").String())
	}
	u.vars += get(m, "template_variables").List().Len()
	set(out, "canceled", u.cancel)
	return s.MsgSend(out, codec{})
}

func (u *upstreamServer) uploadFile(s drpc.Stream) error {
	first, err := u.take(s, "provisioner.FileUpload")
	if err != nil {
		return err
	}
	d := get(first, "data_upload").Message()
	var b []byte
	for i := range get(d, "chunks").Int() {
		m, err := u.take(s, "provisioner.FileUpload")
		if err != nil {
			return err
		}
		p := get(m, "chunk_piece").Message()
		if get(p, "piece_index").Int() != i || !bytes.Equal(get(p, "full_data_hash").Bytes(), get(d, "data_hash").Bytes()) {
			u.t.Errorf("piece %d is %v", i, get(p, "piece_index"))
		}
		b = append(b, get(p, "data").Bytes()...)
	}
	if sum := sha256.Sum256(b); !bytes.Equal(sum[:], get(d, "data_hash").Bytes()) || int64(len(b)) != get(d, "file_size").Int() {
		u.t.Error("the uploaded file is not whole")
	}
	u.mu.Lock()
	u.uploaded = b
	u.mu.Unlock()
	return s.MsgSend(u.message("provisionerd.Empty"), codec{})
}

func (u *upstreamServer) downloadFile(s drpc.Stream) error {
	if _, err := u.take(s, "provisionerd.FileRequest"); err != nil {
		return err
	}
	const chunk = 2 << 20
	sum := sha256.Sum256(u.file)
	m := u.message("provisioner.FileUpload")
	d := m.Mutable(m.Descriptor().Fields().ByName("data_upload")).Message()
	set(d, "upload_type", protoreflect.EnumNumber(1))
	set(d, "data_hash", sum[:])
	set(d, "file_size", int64(len(u.file)))
	set(d, "chunks", int32((len(u.file)+chunk-1)/chunk))
	err := s.MsgSend(m, codec{})
	for i := 0; i*chunk < len(u.file) && err == nil; i++ {
		m := u.message("provisioner.FileUpload")
		p := m.Mutable(m.Descriptor().Fields().ByName("chunk_piece")).Message()
		set(p, "data", u.file[i*chunk:min(len(u.file), (i+1)*chunk)])
		set(p, "full_data_hash", sum[:])
		set(p, "piece_index", int32(i))
		err = s.MsgSend(m, codec{})
	}
	return err
}

// give hands a job out, which is the contract's JSON with an echo script.
func (u *upstreamServer) give(kind string, part map[string]any, files map[string]string) *dynamicpb.Message {
	u.t.Helper()
	archive, err := echo.Archive(files)
	if err != nil {
		u.t.Fatal(err)
	}
	b, err := json.Marshal(map[string]any{"job_id": uuid.NewString(), "provisioner": "echo", "user_name": "u", "template_source_archive": archive, kind: part})
	if err != nil {
		u.t.Fatal(err)
	}
	job := u.message("provisionerd.AcquiredJob")
	if err := protojson.Unmarshal(b, job); err != nil {
		u.t.Fatal(err)
	}
	u.jobs <- job
	select {
	case m := <-u.ended:
		if get(m, "job_id").String() != get(job, "job_id").String() {
			u.t.Fatalf("another job ended: %v", m)
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		if m.Descriptor().Name() == "FailedJob" && !u.cancel {
			u.t.Fatalf("the job failed: %v", get(m, "error"))
		}
		return m
	case <-time.After(testwait.Limit):
		u.t.Fatal("the job does not end")
		return nil
	}
}

// TestOurDaemonOfUpstreamServer serves a server of the original protocol, with
// the newer and the older way to ask for jobs.
func TestOurDaemonOfUpstreamServer(t *testing.T) {
	for name, old := range map[string]bool{"stream": false, "old acquire": true} {
		t.Run(name, func(t *testing.T) {
			u, c := newUpstreamServer(t, old)
			e := &hoarder{files: map[string][]byte{}}
			w := daemon.WebSocket{Client: c, PSK: psk, Name: "ours", Tags: map[string]string{"a": "b"}, Provisioners: []string{"echo"}, Version: "v0", Slots: 1}
			d, err := daemon.New(daemon.Config{Dial: w.Dial, Name: "ours", Engines: map[string]provisioner.Engine{"echo": e}, UpdateInterval: 50 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer d.Stop(context.Background()) //nolint:errcheck // never fails

			modules := bytes.Repeat([]byte("0123456789"), 300_000)
			done := u.give("template_import", map[string]any{"metadata": map[string]any{}}, map[string]string{
				"init.jsonl":  `{"complete": {"moduleFiles": "` + base64.StdEncoding.EncodeToString(modules) + `"}}`,
				"parse.jsonl": `{"complete": {"templateVariables": [{"name": "v", "defaultValue": "x"}]}}`,
			})
			part := get(done, "template_import").Message()
			u.mu.Lock()
			if sum := sha256.Sum256(modules); !bytes.Equal(u.uploaded, modules) || !bytes.Equal(get(part, "module_files_hash").Bytes(), sum[:]) || u.vars != 1 {
				t.Errorf("the import uploaded %d bytes, told %d variables, and gave %v", len(u.uploaded), u.vars, get(part, "module_files_hash"))
			}
			u.mu.Unlock()
			done = u.give("template_dry_run", map[string]any{"metadata": map[string]any{}}, nil)
			if !done.Has(done.Descriptor().Fields().ByName("template_dry_run")) {
				t.Errorf("the dry run ended as %v", done)
			}
			build := map[string]any{"workspace_name": "ws", "metadata": map[string]any{"workspace_name": "ws", "template_version_modules_file": uuid.NewString()}}
			done = u.give("workspace_build", build, map[string]string{
				"plan.jsonl":  `{"complete": {"dailyCost": 5}}`,
				"apply.jsonl": `{"log": {"output": "hello"}}` + "\n" + `{"state": "whole"}`,
			})
			u.mu.Lock()
			if state := get(get(done, "workspace_build").Message(), "state").Bytes(); string(state) != "whole" || u.quota != 5 || !bytes.Equal(e.files[""], u.file) {
				t.Errorf("the build gave the state %q, quota %d, %d bytes of modules", state, u.quota, len(e.files[""]))
			}
			u.cancel = true
			u.mu.Unlock()
			failed := u.give("workspace_build", build, map[string]string{"apply.jsonl": `{"state": "half"}` + "\n" + `{"hang": true}`})
			if failed.Descriptor().Name() != "FailedJob" {
				t.Errorf("a canceled build ended as %v", failed)
			}
			u.mu.Lock()
			defer u.mu.Unlock()
			if !bytes.Contains([]byte(joined(u.lines)), []byte("hello")) {
				t.Errorf("the log is %q", u.lines)
			}
		})
	}
}

func joined(lines []string) string {
	b, err := json.Marshal(lines)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
