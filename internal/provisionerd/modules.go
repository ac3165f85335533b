package provisionerd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
)

// init asks the engine to initialize a template version. The modules that its
// import stored come from the engine's cache or from the server. When they are
// unavailable, the engine downloads them from their sources.
func (r *runner) init(ctx context.Context, s provisioner.Session) (*provisioner.InitComplete, error) {
	req := &provisioner.InitRequest{TemplateSourceArchive: r.job.TemplateSourceArchive, OmitModuleFiles: true}
	m, ok := s.(provisioner.Modules)
	if id := r.metadata().GetTemplateVersionModulesFile(); ok && id != "" {
		hash, err := r.modules(ctx, m, id)
		if err != nil && ctx.Err() == nil {
			r.log.WarnContext(ctx, "cannot use the stored modules; the engine downloads them", "file", id, "error", err)
		}
		req.InitialModuleTarHash = hash
	}
	return step(ctx, "init", s.Init, req)
}

// modules passes an archive of modules to the engine and returns its hash. An
// archive that the engine already has is not sent.
func (r *runner) modules(ctx context.Context, m provisioner.Modules, id string) (hash []byte, err error) {
	err = r.d.call(ctx, func(ctx context.Context, c provisionerd.DRPCProvisionerDaemonClient) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := c.DownloadFile(ctx, &provisionerd.FileRequest{FileId: id, UploadType: provisioner.DataUploadType_UPLOAD_TYPE_MODULE_FILES})
		if err != nil {
			return err
		}
		defer stream.Close()
		first, err := stream.Recv()
		if err != nil {
			return err
		}
		d := first.GetDataUpload()
		if d == nil || d.FileSize < 0 || d.FileSize > provisionerd.MaxFile || len(d.DataHash) != sha256.Size {
			return refusal{"the server does not have the file: " + wireText(first.GetError().GetError(), maxLine)}
		}
		if m.HasModules(d.DataHash) {
			hash = d.DataHash
			return nil
		}
		data, err := assembleFile(d, stream.Recv)
		if err != nil {
			return err
		}
		if err := m.UseModules(data); err != nil {
			return refusal{err.Error()}
		}
		hash = d.DataHash
		return nil
	})
	return hash, err
}

// assembleFile assembles a file from its chunks.
func assembleFile(d *provisioner.DataUpload, next func() (*provisioner.FileUpload, error)) ([]byte, error) {
	var b bytes.Buffer
	for i := range d.Chunks {
		m, err := next()
		if err != nil {
			return nil, err
		}
		p := m.GetChunkPiece()
		if p == nil || p.PieceIndex != i || int64(b.Len()+len(p.Data)) > d.FileSize {
			return nil, errors.New("a chunk of the file is missing or belongs to another file")
		}
		b.Write(p.Data)
	}
	if sum := sha256.Sum256(b.Bytes()); !bytes.Equal(sum[:], d.DataHash) {
		return nil, errors.New("the file is incomplete")
	}
	return b.Bytes(), nil
}
