package template_test

import (
	"archive/zip"
	"bytes"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/archive"
	"github.com/seed-2a7f8fe7/coder/internal/template"
	"github.com/seed-2a7f8fe7/coder/internal/testtar"
)

func TestFiles(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	tar := testtar.Of(t, map[string]string{"main.tf": "terraform {}"})
	id, created, err := h.UploadFile(ctx, h.admin, template.TypeTar, tar)
	if err != nil || !created {
		t.Fatalf("new: %v, %v", created, err)
	}
	if again, created, err := h.UploadFile(ctx, h.admin, "application/x-tar; charset=binary", tar); err != nil || created || again != id {
		t.Fatalf("the same again: %v %v, %v", again, created, err)
	}
	other, created, err := h.UploadFile(ctx, h.member, template.TypeTar, tar)
	if err != nil || !created || other == id {
		t.Fatalf("the same of another person: %v %v, %v", other, created, err)
	}
	got, kind, err := h.File(ctx, h.admin, id, "")
	if err != nil || kind != template.TypeTar || !bytes.Equal(got, tar) {
		t.Fatalf("back: %s, %v", kind, err)
	}
	zipped, kind, err := h.File(ctx, h.admin, id, "zip")
	if err != nil || kind != template.TypeZip {
		t.Fatalf("as zip: %s, %v", kind, err)
	}
	if r, err := zip.NewReader(bytes.NewReader(zipped), int64(len(zipped))); err != nil || len(r.File) != 1 {
		t.Fatalf("zip: %v", err)
	}
	fromZip, _, err := h.UploadFile(ctx, h.admin, template.TypeZip, zipped)
	if err != nil {
		t.Fatal(err)
	}
	if again, created, err := h.UploadFile(ctx, h.admin, template.TypeZip, zipped); err != nil || created || again != fromZip {
		t.Fatalf("the same zip again: %v, %v", created, err)
	}
	if _, _, err := h.File(ctx, h.member, id, ""); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Fatalf("another's file: %v", err)
	}
	if _, _, err := h.File(ctx, h.admin, uuid.New(), ""); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Fatalf("no file: %v", err)
	}
	if _, _, err := h.File(ctx, h.admin, id, "rar"); !codersdk.Is(err, codersdk.CodeInvalid) {
		t.Fatalf("as rar: %v", err)
	}
}

// Administrators of a template may pull its source.
func TestFileOfATemplate(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	tpl := h.template(t, "tpl")
	v, err := h.TemplateVersion(ctx, h.member, tpl.ActiveVersionID)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.File(ctx, h.member, v.Job.FileID, ""); !codersdk.Is(err, codersdk.CodeNotFound) {
		t.Fatalf("a user of the template reads its source: %v", err)
	}
	if err := h.UpdateTemplateACL(ctx, h.admin, tpl.ID, codersdk.UpdateTemplateACL{UserPerms: map[string]string{h.member.UserID.String(): "admin"}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.File(ctx, h.member, v.Job.FileID, ""); err != nil {
		t.Fatalf("its admin cannot: %v", err)
	}
	if _, err := h.CreateTemplateVersion(ctx, h.member, h.org, codersdk.CreateTemplateVersionRequest{FileID: v.Job.FileID, TemplateID: tpl.ID, Provisioner: "echo"}); err != nil {
		t.Fatalf("its admin cannot push: %v", err)
	}
}

func TestBadUploads(t *testing.T) {
	h := newHouse(t)
	good := testtar.Of(t, map[string]string{"main.tf": "x"})
	for name, tt := range map[string]struct {
		kind  string
		data  []byte
		code  codersdk.Code
		words string
	}{
		"type":      {"text/plain", good, codersdk.CodeInvalid, "Content-Type"},
		"large":     {template.TypeTar, make([]byte, template.MaxUpload+1), codersdk.CodeTooLarge, "10 MiB"},
		"empty":     {template.TypeTar, nil, codersdk.CodeInvalid, "no files"},
		"cut off":   {template.TypeTar, good[:600], codersdk.CodeInvalid, "no files"},
		"garbage":   {template.TypeTar, bytes.Repeat([]byte("garbage!"), 100), codersdk.CodeInvalid, "damaged or incomplete"},
		"escape":    {template.TypeTar, testtar.Of(t, map[string]string{"../x": "y"}), codersdk.CodeInvalid, "leads out"},
		"bad zip":   {template.TypeZip, good, codersdk.CodeInvalid, "zip archive is damaged"},
		"empty zip": {template.TypeZip, []byte("PK\x05\x06" + string(make([]byte, 18))), codersdk.CodeInvalid, "no files"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "cut off" {
				tt.data, tt.words = testtar.Of(t, map[string]string{"main.tf": string(make([]byte, 2000))})[:1500], "damaged or incomplete"
			}
			_, _, err := h.UploadFile(t.Context(), h.admin, tt.kind, tt.data)
			wants(t, err, tt.code, tt.words)
		})
	}
}

func TestVersionOfAnExample(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	list, err := h.TemplateExamples(ctx, h.member)
	if err != nil || len(list) == 0 {
		t.Fatalf("examples %v, %v", list, err)
	}
	for _, e := range list {
		v, err := h.CreateTemplateVersion(ctx, h.admin, h.org, codersdk.CreateTemplateVersionRequest{ExampleID: e.ID, Provisioner: "terraform"})
		if err != nil {
			t.Fatal(err)
		}
		job := h.acquire(t)
		if job.Provisioner != "terraform" || job.JobId != v.Job.ID.String() {
			t.Fatalf("job %+v", job)
		}
		if err := archive.Check(job.TemplateSourceArchive, archive.Upload()); err != nil {
			t.Fatalf("source of %s: %v", e.ID, err)
		}
		if e.Description == "" || e.Icon == "" || e.Markdown == "" {
			t.Errorf("example %s lacks a description, an icon or a text", e.ID)
		}
	}
}
