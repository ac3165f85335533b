package bench

import (
	"bytes"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
)

// echoWorkspace makes a workspace whose builds only say one line.
func echoWorkspace(ctx context.Context, s *server) (coder.Workspace, error) {
	t, err := echoTemplate(ctx, s, "echo", map[string]string{"plan.jsonl": `{"log": {"level": "INFO", "output": "planned"}}`})
	if err != nil {
		return coder.Workspace{}, err
	}
	return s.create(ctx, "echo", t)
}

// echoTemplate makes a template for the echo engine of its files.
func echoTemplate(ctx context.Context, s *server, name string, files map[string]string) (coder.Template, error) {
	archive, err := echo.Archive(files)
	if err != nil {
		return coder.Template{}, err
	}
	up, err := s.c.Upload(ctx, "application/x-tar", bytes.NewReader(archive))
	if err != nil {
		return coder.Template{}, err
	}
	file, err := uuid.Parse(up.Hash)
	if err != nil {
		return coder.Template{}, err
	}
	v, err := s.c.CreateTemplateVersion(ctx, "default", coder.CreateTemplateVersionRequest{FileID: file, Provisioner: "echo", StorageMethod: "file"})
	if err != nil {
		return coder.Template{}, err
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for v.Job.CompletedAt == nil {
		select {
		case <-ctx.Done():
			return coder.Template{}, ctx.Err()
		case <-tick.C:
		}
		if v, err = s.c.TemplateVersion(ctx, v.ID); err != nil {
			return coder.Template{}, err
		}
	}
	return s.c.CreateTemplate(ctx, "default", coder.CreateTemplateRequest{Name: name, TemplateVersionID: v.ID})
}
