package bench

import (
	"bytes"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
)

// echoWorkspace creates a workspace whose builds log one line.
func echoWorkspace(ctx context.Context, s *server) (codersdk.Workspace, error) {
	t, err := echoTemplate(ctx, s, "echo", map[string]string{"plan.jsonl": `{"log": {"level": "INFO", "output": "planned"}}`})
	if err != nil {
		return codersdk.Workspace{}, err
	}
	return s.create(ctx, "echo", t)
}

// echoTemplate creates a template for the echo engine from its files.
func echoTemplate(ctx context.Context, s *server, name string, files map[string]string) (codersdk.Template, error) {
	archive, err := echo.Archive(files)
	if err != nil {
		return codersdk.Template{}, err
	}
	up, err := s.c.Upload(ctx, "application/x-tar", bytes.NewReader(archive))
	if err != nil {
		return codersdk.Template{}, err
	}
	file, err := uuid.Parse(up.Hash)
	if err != nil {
		return codersdk.Template{}, err
	}
	v, err := s.c.CreateTemplateVersion(ctx, "default", codersdk.CreateTemplateVersionRequest{FileID: file, Provisioner: "echo", StorageMethod: "file"})
	if err != nil {
		return codersdk.Template{}, err
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for v.Job.CompletedAt == nil {
		select {
		case <-ctx.Done():
			return codersdk.Template{}, ctx.Err()
		case <-tick.C:
		}
		if v, err = s.c.TemplateVersion(ctx, v.ID); err != nil {
			return codersdk.Template{}, err
		}
	}
	return s.c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: name, TemplateVersionID: v.ID})
}
