package provisionapi_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/hashicorp/yamux"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	_ "google.golang.org/protobuf/types/known/timestamppb" // the contract refers to it
	"storj.io/drpc"
	"storj.io/drpc/drpcconn"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/provisionapi"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// upstream is a daemon of the original protocol, made from the contract file
// alone: its messages are not our generated ones, and it knows no field of ours.
type upstream struct {
	t       *testing.T
	session *yamux.Session
	files   *protoregistry.Files
}

// contractFiles makes descriptors of the contract.
func contractFiles(t *testing.T) *protoregistry.Files {
	t.Helper()
	b, err := os.ReadFile("../../api/contract/provisioner-wire.json")
	if err != nil {
		t.Fatal(err)
	}
	type field struct {
		N                  int32
		Type, Label, Oneof string
	}
	var contract map[string]struct {
		Messages map[string]map[string]field
		Enums    map[string]map[string]int32
	}
	if err := json.Unmarshal(b, &contract); err != nil {
		t.Fatal(err)
	}
	files := &protoregistry.Files{}
	stamp, err := protoregistry.GlobalFiles.FindFileByPath("google/protobuf/timestamp.proto")
	if err != nil {
		t.Fatal(err)
	}
	if err := files.RegisterFile(stamp); err != nil {
		t.Fatal(err)
	}
	for _, pkg := range []string{"provisioner", "provisionerd"} {
		c := contract[pkg]
		fd := &descriptorpb.FileDescriptorProto{Name: proto.String(pkg + ".proto"), Package: proto.String(pkg), Syntax: proto.String("proto3"), Dependency: []string{"google/protobuf/timestamp.proto"}}
		if pkg == "provisionerd" {
			fd.Dependency = append(fd.Dependency, "provisioner.proto")
		}
		for name, values := range c.Enums {
			e := &descriptorpb.EnumDescriptorProto{Name: proto.String(name)}
			for v, n := range values {
				e.Value = append(e.Value, &descriptorpb.EnumValueDescriptorProto{Name: proto.String(v), Number: proto.Int32(n)})
			}
			slices.SortFunc(e.Value, func(a, b *descriptorpb.EnumValueDescriptorProto) int { return int(a.GetNumber() - b.GetNumber()) })
			fd.EnumType = append(fd.EnumType, e)
		}
		messages := map[string]*descriptorpb.DescriptorProto{}
		paths := []string{}
		for path := range c.Messages {
			paths = append(paths, path)
		}
		slices.Sort(paths)
		for _, path := range paths {
			parent, name, nested := strings.Cut(path, ".")
			if !nested {
				parent, name = "", path
			}
			m := &descriptorpb.DescriptorProto{Name: proto.String(name)}
			messages[path] = m
			if nested {
				messages[parent].NestedType = append(messages[parent].NestedType, m)
			} else {
				fd.MessageType = append(fd.MessageType, m)
			}
		}
		for _, path := range paths {
			m := messages[path]
			for name, f := range c.Messages[path] {
				m.Field = append(m.Field, fieldOf(pkg, path, m, name, f.N, f.Type, f.Label, f.Oneof))
			}
			slices.SortFunc(m.Field, func(a, b *descriptorpb.FieldDescriptorProto) int { return int(a.GetNumber() - b.GetNumber()) })
			for _, f := range m.Field { // proto3 optional is a oneof of one, and those come last
				if f.GetProto3Optional() {
					f.OneofIndex = proto.Int32(int32(len(m.OneofDecl)))
					m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String("_" + f.GetName())})
				}
			}
		}
		d, err := protodesc.NewFile(fd, files)
		if err != nil {
			t.Fatal(err)
		}
		if err := files.RegisterFile(d); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func fieldOf(pkg, path string, m *descriptorpb.DescriptorProto, name string, n int32, kind, label, oneof string) *descriptorpb.FieldDescriptorProto {
	f := &descriptorpb.FieldDescriptorProto{Name: proto.String(name), Number: proto.Int32(n), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
	if label == "repeated" {
		f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	}
	if label == "optional" {
		f.Proto3Optional = proto.Bool(true)
	}
	if oneof != "" {
		i := slices.IndexFunc(m.OneofDecl, func(o *descriptorpb.OneofDescriptorProto) bool { return o.GetName() == oneof })
		if i < 0 {
			i = len(m.OneofDecl)
			m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String(oneof)})
		}
		f.OneofIndex = proto.Int32(int32(i))
	}
	scalars := map[string]descriptorpb.FieldDescriptorProto_Type{
		"string": descriptorpb.FieldDescriptorProto_TYPE_STRING, "bytes": descriptorpb.FieldDescriptorProto_TYPE_BYTES,
		"bool": descriptorpb.FieldDescriptorProto_TYPE_BOOL, "int32": descriptorpb.FieldDescriptorProto_TYPE_INT32,
		"int64": descriptorpb.FieldDescriptorProto_TYPE_INT64,
	}
	switch s, ok := scalars[kind]; {
	case ok:
		f.Type = s.Enum()
	case strings.HasPrefix(kind, "map<"):
		entry := camel(name) + "Entry" // the name that protobuf wants
		str := descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum()
		opt := descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()
		m.NestedType = append(m.NestedType, &descriptorpb.DescriptorProto{
			Name: proto.String(entry), Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
			Field: []*descriptorpb.FieldDescriptorProto{
				{Name: proto.String("key"), Number: proto.Int32(1), Type: str, Label: opt},
				{Name: proto.String("value"), Number: proto.Int32(2), Type: str, Label: opt},
			},
		})
		f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
		f.TypeName = proto.String("." + pkg + "." + path + "." + entry)
	default: // a message or an enum, found by its name as protoc does
		f.TypeName = proto.String(kind)
	}
	return f
}

func camel(s string) string {
	out := ""
	for _, p := range strings.Split(s, "_") {
		out += strings.ToUpper(p[:1]) + p[1:]
	}
	return out
}

// message makes a message of the contract from protobuf's text of a map.
func (u *upstream) message(name string) *dynamicpb.Message {
	u.t.Helper()
	d, err := u.files.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		u.t.Fatal(err)
	}
	return dynamicpb.NewMessage(d.(protoreflect.MessageDescriptor))
}

func set(m protoreflect.Message, name string, v any) {
	m.Set(m.Descriptor().Fields().ByName(protoreflect.Name(name)), protoreflect.ValueOf(v))
}

func get(m protoreflect.Message, name string) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(name)))
}

// codec puts dynamic messages onto the wire.
type codec struct{}

func (codec) Marshal(m drpc.Message) ([]byte, error)   { return proto.Marshal(m.(proto.Message)) }
func (codec) Unmarshal(b []byte, m drpc.Message) error { return proto.Unmarshal(b, m.(proto.Message)) }

func (u *upstream) conn() *drpcconn.Conn {
	u.t.Helper()
	s, err := u.session.OpenStream()
	if err != nil {
		u.t.Fatal(err)
	}
	return drpcconn.New(s) // with the original's 4 MiB at most
}

// call makes a unary call.
func (u *upstream) call(name string, in *dynamicpb.Message, out string) (*dynamicpb.Message, error) {
	u.t.Helper()
	c := u.conn()
	defer c.Close()
	ctx, cancel := context.WithTimeout(u.t.Context(), testwait.Limit)
	defer cancel()
	m := u.message(out)
	return m, c.Invoke(ctx, "/provisionerd.ProvisionerDaemon/"+name, codec{}, in, m)
}

// acquire opens the acquire stream; cancel sends CancelAcquire first.
func (u *upstream) acquire(cancelIt bool) *dynamicpb.Message {
	u.t.Helper()
	c := u.conn()
	defer c.Close()
	ctx, cancel := context.WithTimeout(u.t.Context(), testwait.Limit)
	defer cancel()
	s, err := c.NewStream(ctx, "/provisionerd.ProvisionerDaemon/AcquireJobWithCancel", codec{})
	if err != nil {
		u.t.Fatal(err)
	}
	if cancelIt {
		if err := s.MsgSend(u.message("provisionerd.CancelAcquire"), codec{}); err != nil {
			u.t.Fatal(err)
		}
	}
	job := u.message("provisionerd.AcquiredJob")
	if err := s.MsgRecv(job, codec{}); err != nil {
		u.t.Fatal(err)
	}
	return job
}

func newUpstream(t *testing.T, w *town, version string) *upstream {
	t.Helper()
	return newUpstreamWith(t, w, version, "")
}

// newUpstreamWith connects with a key, or with the PSK.
func newUpstreamWith(t *testing.T, w *town, version, key string) *upstream {
	t.Helper()
	cl := *w.client
	cl.Header = http.Header{"X-Coder-Build-Version": {"v2.30.0"}}
	if cl.Header.Set(provisionapi.KeyHeader, key); key == "" {
		cl.Header = http.Header{provisionapi.PSKHeader: {psk}, "X-Coder-Build-Version": {"v2.30.0"}}
	}
	q := url.Values{"version": {version, version}, "name": {"upstream"}, "provisioner": {"echo", "terraform"}}
	ws, err := cl.Dial(t.Context(), "/organizations/"+w.org.String()+"/provisionerdaemons/serve", q)
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(4 << 20)
	c := websocket.NetConn(context.Background(), ws, websocket.MessageBinary)
	conf := yamux.DefaultConfig()
	conf.LogOutput = io.Discard
	s, err := yamux.Client(c, conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &upstream{t: t, session: s, files: contractFiles(t)}
}

func TestUpstreamDaemon(t *testing.T) {
	w := newTown(t)
	for minor := range codersdk.ProvisionerAPIMinor + 1 {
		version := fmt.Sprintf("1.%d", minor)
		old := minor%2 == 0 // the older call to acquire, and a canceled job
		u := newUpstream(t, w, version)
		if job := u.acquire(true); get(job, "job_id").String() != "" {
			t.Fatalf("a request that was taken back gives %v", job)
		}
		id := w.add(t, build, nil)
		var job *dynamicpb.Message
		if old {
			var err error
			if job, err = u.call("AcquireJob", u.message("provisionerd.Empty"), "provisionerd.AcquiredJob"); err != nil {
				t.Fatal(err)
			}
		} else {
			job = u.acquire(false)
		}
		if got := get(job, "job_id").String(); got != id.String() {
			t.Fatalf("acquired job %q, want %s", got, id)
		}
		md := get(get(job, "workspace_build").Message(), "metadata").Message()
		if got := get(md, "workspace_name").String(); got != "ws" {
			t.Errorf("the workspace is called %q", got)
		}
		quota := u.message("provisionerd.CommitQuotaRequest")
		set(quota, "job_id", id.String())
		set(quota, "daily_cost", int32(3))
		if q, err := u.call("CommitQuota", quota, "provisionerd.CommitQuotaResponse"); err != nil || !get(q, "ok").Bool() {
			t.Errorf("quota: %v, %v", q, err)
		}
		update := u.message("provisionerd.UpdateJobRequest")
		set(update, "job_id", id.String())
		line := u.message("provisionerd.Log")
		set(line, "output", "hello from afar")
		set(line, "stage", "Terraform")
		set(line, "level", protoreflect.EnumNumber(3))
		set(line, "created_at", time.Now().UnixMilli())
		update.Mutable(update.Descriptor().Fields().ByName("logs")).List().Append(protoreflect.ValueOfMessage(line))
		if r, err := u.call("UpdateJob", update, "provisionerd.UpdateJobResponse"); err != nil || get(r, "canceled").Bool() {
			t.Fatalf("update: %v, %v", r, err)
		}
		if old {
			w.cancel(t, id)
			if r, err := u.call("UpdateJob", update, "provisionerd.UpdateJobResponse"); err != nil || !get(r, "canceled").Bool() {
				t.Fatalf("update of a canceled job: %v, %v", r, err)
			}
			failed := u.message("provisionerd.FailedJob")
			set(failed, "job_id", id.String())
			set(failed, "error", "interrupted")
			part := failed.Mutable(failed.Descriptor().Fields().ByName("workspace_build")).Message()
			set(part, "state", []byte("half"))
			if _, err := u.call("FailJob", failed, "provisionerd.Empty"); err != nil {
				t.Fatal(err)
			}
			if j, _ := w.ends(t, id); j.Status != codersdk.ProvisionerJobStatusCanceled || string(w.failed[id].GetWorkspaceBuild().GetState()) != "half" {
				t.Fatalf("job ended as %s: %s", j.Status, j.Error)
			}
			continue
		}
		done := u.message("provisionerd.CompletedJob")
		set(done, "job_id", id.String())
		part := done.Mutable(done.Descriptor().Fields().ByName("workspace_build")).Message()
		set(part, "state", []byte("whole"))
		if _, err := u.call("CompleteJob", done, "provisionerd.Empty"); err != nil {
			t.Fatal(err)
		}
		j, logs := w.ends(t, id)
		if j.Status != codersdk.ProvisionerJobStatusSucceeded || j.WorkerName != "upstream" || string(w.done[id].GetWorkspaceBuild().GetState()) != "whole" {
			t.Fatalf("job ended as %s: %s", j.Status, j.Error)
		}
		if len(logs) != 1 || logs[0].Output != "hello from afar" || logs[0].LogLevel != codersdk.LogLevelWarn {
			t.Errorf("logs are %v", logs)
		}
		if _, err := u.call("CompleteJob", done, "provisionerd.Empty"); err == nil {
			t.Error("a job was completed twice")
		}
		u.session.Close()
	}
}

// TestUpstreamFiles uploads the modules of an import in pieces, and downloads
// those of a version.
func TestUpstreamFiles(t *testing.T) {
	w := newTown(t)
	u := newUpstream(t, w, "1.14")
	id := w.add(t, imp, nil)
	if got := get(u.acquire(false), "job_id").String(); got != id.String() {
		t.Fatalf("acquired job %q, want %s", got, id)
	}
	data := bytes.Repeat([]byte("0123456789"), 500_000)
	sum := sha256.Sum256(data)
	const chunk = 2 << 20
	stream := func(name string) (*drpcconn.Conn, drpc.Stream) {
		c := u.conn()
		s, err := c.NewStream(t.Context(), "/provisionerd.ProvisionerDaemon/"+name, codec{})
		if err != nil {
			t.Fatal(err)
		}
		return c, s
	}
	c, s := stream("UploadFile")
	m := u.message("provisioner.FileUpload")
	d := m.Mutable(m.Descriptor().Fields().ByName("data_upload")).Message()
	set(d, "upload_type", protoreflect.EnumNumber(1))
	set(d, "data_hash", sum[:])
	set(d, "file_size", int64(len(data)))
	set(d, "chunks", int32(3))
	if err := s.MsgSend(m, codec{}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		m := u.message("provisioner.FileUpload")
		p := m.Mutable(m.Descriptor().Fields().ByName("chunk_piece")).Message()
		set(p, "data", data[i*chunk:min(len(data), (i+1)*chunk)])
		set(p, "full_data_hash", sum[:])
		set(p, "piece_index", int32(i))
		if err := s.MsgSend(m, codec{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.MsgRecv(u.message("provisionerd.Empty"), codec{}); err != nil {
		t.Fatal(err)
	}
	c.Close()
	f, err := w.store.FileByHash(t.Context(), fmt.Sprintf("%x", sum), w.user)
	if err != nil {
		t.Fatal("the uploaded file is not there:", err)
	}
	w.sql(t, `INSERT INTO template_versions (id, organization_id, job_id, name, created_by, module_files_id, created_at, updated_at) VALUES ($1, $2, $3, 'v', $4, $5, now(), now())`,
		uuid.New(), w.org, id, w.user, f)
	c, s = stream("DownloadFile")
	defer c.Close()
	req := u.message("provisionerd.FileRequest")
	set(req, "file_id", f.String())
	set(req, "upload_type", protoreflect.EnumNumber(1))
	if err := s.MsgSend(req, codec{}); err != nil {
		t.Fatal(err)
	}
	var got []byte
	for len(got) < len(data) {
		m := u.message("provisioner.FileUpload")
		if err := s.MsgRecv(m, codec{}); err != nil {
			t.Fatal(err)
		}
		if e := get(get(m, "error").Message(), "error").String(); e != "" {
			t.Fatal(e)
		}
		got = append(got, get(get(m, "chunk_piece").Message(), "data").Bytes()...)
	}
	if !bytes.Equal(got, data) {
		t.Error("the file changed on its way")
	}
}

// TestSomeoneElsesJob lets a daemon speak of a job that another holds.
func TestSomeoneElsesJob(t *testing.T) {
	w := newTown(t)
	id := w.add(t, build, map[string]string{"plan.jsonl": `{"log": {"output": "here"}}` + "\n" + `{"sleep": "500ms"}`})
	w.daemon(t, nil)
	w.says(t, id, "here")
	u := newUpstream(t, w, "1.14")
	for _, job := range []string{id.String(), "nonsense", "", "00000000-0000-0000-0000-000000000000"} {
		done, failed, update := u.message("provisionerd.CompletedJob"), u.message("provisionerd.FailedJob"), u.message("provisionerd.UpdateJobRequest")
		for call, m := range map[string]*dynamicpb.Message{"CompleteJob": done, "FailJob": failed, "UpdateJob": update} {
			set(m, "job_id", job)
			out := "provisionerd.Empty"
			if call == "UpdateJob" {
				out = "provisionerd.UpdateJobResponse"
			}
			for range 3 {
				if _, err := u.call(call, m, out); err == nil {
					t.Errorf("%s of job %q succeeded", call, job)
				}
			}
		}
	}
	for i := range 300 {
		m := u.message("provisionerd.FailedJob")
		set(m, "job_id", fmt.Sprintf("00000000-0000-0000-0000-%012d", i))
		if _, err := u.call("FailJob", m, "provisionerd.Empty"); err == nil {
			t.Error("a job that does not exist failed")
		}
	}
	lines := slices.DeleteFunc(w.log.take(), func(l string) bool { return !strings.Contains(l, "does not hold") })
	if len(lines) == 0 || len(lines) > 100 {
		t.Errorf("it is told %d times", len(lines))
	}
	if j, _ := w.ends(t, id); j.Status != codersdk.ProvisionerJobStatusSucceeded {
		t.Fatalf("the holder was disturbed: %s: %s", j.Status, j.Error)
	}
}

// TestSilentUpstreamDaemon loses its connection in the middle of a build.
func TestSilentUpstreamDaemon(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the lease of a daemon without leases")
	}
	w := newTownWith(t, 2*time.Second)
	u := newUpstream(t, w, "1.14")
	id := w.add(t, build, nil)
	u.acquire(false)
	u.session.Close()
	row, err := w.store.QueueJob(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	left := row.ProvisionerJob.LeaseExpiresAt.Sub(*row.ProvisionerJob.StartedAt)
	if left != queue.UpstreamLease {
		t.Errorf("its lease is %s, want %s", left, queue.UpstreamLease)
	}
	if _, err := w.store.Pool().Exec(t.Context(), fmt.Sprintf(`UPDATE provisioner_jobs SET lease_expires_at = now() WHERE id = '%s'`, id)); err != nil {
		t.Fatal(err)
	}
	if j, _ := w.ends(t, id); j.Status != codersdk.ProvisionerJobStatusFailed || !strings.Contains(j.Error, "may exist without being in the state") {
		t.Fatalf("job ended as %s: %s", j.Status, j.Error)
	}
}
