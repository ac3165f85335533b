package provisionapi_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"storj.io/drpc/drpcerr"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	daemon "github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

func describe(data []byte, chunks int32) *provisioner.FileUpload {
	sum := sha256.Sum256(data)
	return &provisioner.FileUpload{Type: &provisioner.FileUpload_DataUpload{DataUpload: &provisioner.DataUpload{
		UploadType: provisioner.DataUploadType_UPLOAD_TYPE_MODULE_FILES, DataHash: sum[:], FileSize: int64(len(data)), Chunks: chunks,
	}}}
}

func piece(data, part []byte, index int32) *provisioner.FileUpload {
	sum := sha256.Sum256(data)
	return &provisioner.FileUpload{Type: &provisioner.FileUpload_ChunkPiece{ChunkPiece: &provisioner.ChunkPiece{Data: part, FullDataHash: sum[:], PieceIndex: index}}}
}

func TestUploads(t *testing.T) {
	h := newHouse(t, queue.Config{})
	conn, err := daemon.Pipe(h.serve)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c := provisionerd.NewDRPCProvisionerDaemonClient(conn)
	upload := func(parts ...*provisioner.FileUpload) error {
		s, err := c.UploadFile(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			if s.Send(p) != nil {
				break // the server has answered already
			}
		}
		_, err = s.CloseAndRecv()
		return err
	}
	data := []byte("abcdef")
	if err := upload(describe(data, 1), piece(data, data, 0)); drpcerr.Code(err) != provisionerd.CodeRefused {
		t.Errorf("an upload without a job: %v", err)
	}
	id := h.add(t, imp, nil)
	job, err := c.AcquireJob(t.Context(), &provisionerd.Empty{})
	if err != nil || job.JobId != id.String() {
		t.Fatal(job, err)
	}
	huge, odd, short := describe(data, 1), describe(data, 1), describe(data, 1)
	huge.GetDataUpload().FileSize = 1 << 40
	odd.GetDataUpload().UploadType = provisioner.DataUploadType_UPLOAD_TYPE_UNKNOWN
	short.GetDataUpload().DataHash = []byte("short")
	for name, parts := range map[string][]*provisioner.FileUpload{
		"nothing":           {},
		"piece first":       {piece(data, data, 0)},
		"too large":         {huge},
		"unknown kind":      {odd},
		"short hash":        {short},
		"missing piece":     {describe(data, 2), piece(data, data[:3], 0)},
		"wrong order":       {describe(data, 2), piece(data, data[:3], 1), piece(data, data[3:], 0)},
		"of another file":   {describe(data, 1), piece([]byte("other"), data, 0)},
		"too much":          {describe(data, 1), piece(data, append(data, 'x'), 0)},
		"too little":        {describe(data, 1), piece(data, data[:3], 0)},
		"other bytes":       {describe(data, 1), piece(data, []byte("ABCDEF"), 0)},
		"described twice":   {describe(data, 1), describe(data, 1)},
		"error for a piece": {describe(data, 1), {Type: &provisioner.FileUpload_Error{Error: &provisioner.FailedFile{Error: "x"}}}},
	} {
		if err := upload(parts...); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	large := bytes.Repeat([]byte("0123456789"), 500_000)
	var parts []*provisioner.FileUpload
	for i := 0; i*provisionerd.Chunk < len(large); i++ {
		parts = append(parts, piece(large, large[i*provisionerd.Chunk:min(len(large), (i+1)*provisionerd.Chunk)], int32(i)))
	}
	if err := upload(append([]*provisioner.FileUpload{describe(large, int32(len(parts)))}, parts...)...); err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.FileByHash(t.Context(), fmt.Sprintf("%x", sha256.Sum256(large)), h.user); err != nil {
		t.Error("the file is not there:", err)
	}
	for _, req := range []*provisionerd.FileRequest{
		{FileId: "nonsense", UploadType: 1}, {FileId: uuid.NewString(), UploadType: 1}, {FileId: h.file.String(), UploadType: 1}, {FileId: h.file.String()},
	} {
		s, err := c.DownloadFile(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := s.Recv(); err != nil || m.GetError().GetError() == "" {
			t.Errorf("%v: %v, %v", req, m, err)
		}
	}
}
