package bench

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

// echoWorkspace makes a workspace whose builds only say one line.
func echoWorkspace(ctx context.Context, s *server) (coder.Workspace, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	const script = `{"log": {"level": "INFO", "output": "planned"}}`
	err := errors.Join(
		w.WriteHeader(&tar.Header{Name: "plan.jsonl", Mode: 0o644, Size: int64(len(script)), ModTime: time.Unix(0, 0)}),
		second(w.Write([]byte(script))), w.Close())
	if err != nil {
		return coder.Workspace{}, err
	}
	up, err := s.c.Upload(ctx, "application/x-tar", &archive)
	if err != nil {
		return coder.Workspace{}, err
	}
	file, err := uuid.Parse(up.Hash)
	if err != nil {
		return coder.Workspace{}, err
	}
	v, err := s.c.CreateTemplateVersion(ctx, "default", coder.CreateTemplateVersionRequest{FileID: file, Provisioner: "echo", StorageMethod: "file"})
	if err != nil {
		return coder.Workspace{}, err
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for v.Job.CompletedAt == nil {
		select {
		case <-ctx.Done():
			return coder.Workspace{}, ctx.Err()
		case <-tick.C:
		}
		if v, err = s.c.TemplateVersion(ctx, v.ID); err != nil {
			return coder.Workspace{}, err
		}
	}
	t, err := s.c.CreateTemplate(ctx, "default", coder.CreateTemplateRequest{Name: "echo", TemplateVersionID: v.ID})
	if err != nil {
		return coder.Workspace{}, err
	}
	return s.create(ctx, "echo", t)
}

func second[T any](_ T, err error) error { return err }
