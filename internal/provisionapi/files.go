package provisionapi

import (
	"bytes"
	"crypto/sha256"

	"github.com/google/uuid"
	"storj.io/drpc/drpcerr"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// UploadFile receives a file in chunks and stores it for the job that the
// connection mentioned last. The job's result then names the file by its
// SHA-256.
func (c *conn) UploadFile(stream provisionerd.DRPCProvisionerDaemon_UploadFileStream) error {
	data, err := receive(stream.Recv)
	if err != nil {
		return drpcerr.WithCode(err, provisionerd.CodeRefused)
	}
	c.mu.Lock()
	job := c.last
	fence := c.fences[job]
	c.mu.Unlock()
	id, err := uuid.Parse(job)
	if err != nil {
		return drpcerr.WithCode(codersdk.Errorf(codersdk.CodeInvalid, "This connection has no job that the file could belong to"), provisionerd.CodeRefused)
	}
	w, err := c.holder(stream.Context(), job)
	if err == nil {
		err = c.queue.SaveModuleFiles(stream.Context(), w, id, fence, data)
	}
	if err != nil {
		return c.explain("upload", job, err)
	}
	return stream.SendAndClose(&provisionerd.Empty{})
}

// receive assembles a file from its description and its chunks in order.
func receive(next func() (*provisioner.FileUpload, error)) ([]byte, error) {
	first, err := next()
	if err != nil {
		return nil, err
	}
	d := first.GetDataUpload()
	switch {
	case d == nil:
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "An upload must start with its description")
	case d.UploadType != provisioner.DataUploadType_UPLOAD_TYPE_MODULE_FILES:
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "Only module files can be uploaded")
	case d.FileSize < 0 || d.FileSize > provisionerd.MaxFile:
		return nil, codersdk.Errorf(codersdk.CodeTooLarge, "A file of %d bytes is too large: the maximum is %d MiB", d.FileSize, provisionerd.MaxFile>>20)
	case len(d.DataHash) != sha256.Size:
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "The description must contain the file's SHA-256")
	}
	var b bytes.Buffer
	for i := range d.Chunks {
		m, err := next()
		if err != nil {
			return nil, err
		}
		p := m.GetChunkPiece()
		if p == nil || p.PieceIndex != i || !bytes.Equal(p.FullDataHash, d.DataHash) {
			return nil, codersdk.Errorf(codersdk.CodeInvalid, "Chunk %d of the file is missing, out of order, or of another file", i)
		}
		if int64(b.Len()+len(p.Data)) > d.FileSize {
			return nil, codersdk.Errorf(codersdk.CodeInvalid, "The file is larger than the announced %d bytes", d.FileSize)
		}
		b.Write(p.Data)
	}
	if sum := sha256.Sum256(b.Bytes()); int64(b.Len()) != d.FileSize || !bytes.Equal(sum[:], d.DataHash) {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "The file is incomplete: its size or SHA-256 differs from the announced one")
	}
	return b.Bytes(), nil
}

// DownloadFile sends a template version's prepared modules in chunks. If they
// are not available, it says so in a message, as daemons expect.
func (c *conn) DownloadFile(req *provisionerd.FileRequest, stream provisionerd.DRPCProvisionerDaemon_DownloadFileStream) error {
	data, err := c.download(req, stream)
	if err != nil {
		err = c.explain("download", "", err)
		if drpcerr.Code(err) == 0 {
			return err // for example, the database is unreachable: the daemon retries
		}
		return stream.Send(&provisioner.FileUpload{Type: &provisioner.FileUpload_Error{Error: &provisioner.FailedFile{Error: err.Error()}}})
	}
	sum := sha256.Sum256(data)
	chunks := (len(data) + provisionerd.Chunk - 1) / provisionerd.Chunk
	err = stream.Send(&provisioner.FileUpload{Type: &provisioner.FileUpload_DataUpload{DataUpload: &provisioner.DataUpload{
		UploadType: req.UploadType, DataHash: sum[:], FileSize: int64(len(data)), Chunks: int32(chunks),
	}}})
	for i := 0; i < chunks && err == nil; i++ {
		piece := data[i*provisionerd.Chunk : min(len(data), (i+1)*provisionerd.Chunk)]
		err = stream.Send(&provisioner.FileUpload{Type: &provisioner.FileUpload_ChunkPiece{ChunkPiece: &provisioner.ChunkPiece{
			Data: piece, FullDataHash: sum[:], PieceIndex: int32(i),
		}}})
	}
	return err
}

func (c *conn) download(req *provisionerd.FileRequest, stream provisionerd.DRPCProvisionerDaemon_DownloadFileStream) ([]byte, error) {
	id, err := uuid.Parse(req.FileId)
	if err != nil {
		return nil, codersdk.Invalid("file_id", "%.40q is not an id", req.FileId)
	}
	if req.UploadType != provisioner.DataUploadType_UPLOAD_TYPE_MODULE_FILES {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "Only module files can be downloaded")
	}
	c.mu.Lock()
	job := c.last
	c.mu.Unlock()
	w, err := c.holder(stream.Context(), job)
	if err != nil {
		return nil, err
	}
	return c.queue.ModuleFiles(stream.Context(), w, id)
}
