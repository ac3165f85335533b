package provisionapi

import (
	"bytes"
	"crypto/sha256"

	"github.com/google/uuid"
	"storj.io/drpc/drpcerr"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
)

// UploadFile takes a file in pieces and keeps it for the job spoken of last,
// whose result then names it by its SHA-256.
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
		return drpcerr.WithCode(coder.Errorf(coder.CodeInvalid, "No job was handed out over this connection, so no file can belong to one"), provisionerd.CodeRefused)
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

// receive puts a file together: its description, then its pieces in order.
func receive(next func() (*provisioner.FileUpload, error)) ([]byte, error) {
	first, err := next()
	if err != nil {
		return nil, err
	}
	d := first.GetDataUpload()
	switch {
	case d == nil:
		return nil, coder.Errorf(coder.CodeInvalid, "An upload begins with its description")
	case d.UploadType != provisioner.DataUploadType_UPLOAD_TYPE_MODULE_FILES:
		return nil, coder.Errorf(coder.CodeInvalid, "Only module files can be uploaded")
	case d.FileSize < 0 || d.FileSize > provisionerd.MaxFile:
		return nil, coder.Errorf(coder.CodeTooLarge, "A file of %d bytes is too large: at most %d MiB are taken", d.FileSize, provisionerd.MaxFile>>20)
	case len(d.DataHash) != sha256.Size:
		return nil, coder.Errorf(coder.CodeInvalid, "The description needs the file's SHA-256")
	}
	var b bytes.Buffer
	for i := range d.Chunks {
		m, err := next()
		if err != nil {
			return nil, err
		}
		p := m.GetChunkPiece()
		if p == nil || p.PieceIndex != i || !bytes.Equal(p.FullDataHash, d.DataHash) {
			return nil, coder.Errorf(coder.CodeInvalid, "Piece %d of the file is missing, out of order, or of another file", i)
		}
		if int64(b.Len()+len(p.Data)) > d.FileSize {
			return nil, coder.Errorf(coder.CodeInvalid, "The file has more than the %d bytes that were announced", d.FileSize)
		}
		b.Write(p.Data)
	}
	if sum := sha256.Sum256(b.Bytes()); int64(b.Len()) != d.FileSize || !bytes.Equal(sum[:], d.DataHash) {
		return nil, coder.Errorf(coder.CodeInvalid, "The file did not arrive whole: its size or SHA-256 is not what was announced")
	}
	return b.Bytes(), nil
}

// DownloadFile sends a template version's prepared modules in pieces. What
// cannot be had is said in a message, as daemons expect.
func (c *conn) DownloadFile(req *provisionerd.FileRequest, stream provisionerd.DRPCProvisionerDaemon_DownloadFileStream) error {
	data, err := c.download(req, stream)
	if err != nil {
		return stream.Send(&provisioner.FileUpload{Type: &provisioner.FileUpload_Error{Error: &provisioner.FailedFile{Error: c.explain("download", "", err).Error()}}})
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
		return nil, coder.Invalid("file_id", "%.40q is not an id", req.FileId)
	}
	if req.UploadType != provisioner.DataUploadType_UPLOAD_TYPE_MODULE_FILES {
		return nil, coder.Errorf(coder.CodeInvalid, "Only module files can be downloaded")
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
