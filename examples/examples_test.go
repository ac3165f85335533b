package examples

import (
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/archive"
)

func TestExamples(t *testing.T) {
	list, err := List()
	if err != nil || len(list) == 0 {
		t.Fatalf("%v, %v", list, err)
	}
	for _, e := range list {
		if e.Name == "" || e.Description == "" || e.Icon == "" || e.Markdown == "" || len(e.Tags) == 0 {
			t.Errorf("%s: the front matter or the text of its README.md lacks something: %+v", e.ID, e)
		}
		if len(e.Description) >= 128 {
			t.Errorf("%s: the description is too long for a template's", e.ID)
		}
		source, ok := Source(e.ID)
		if !ok {
			t.Errorf("%s has no main.tf", e.ID)
			continue
		}
		if b, err := archive.PackFS(source, archive.Upload()); err != nil || archive.Check(b, archive.Upload()) != nil {
			t.Errorf("%s cannot be packed: %v", e.ID, err)
		}
	}
	for _, id := range []string{"", "nothing", ".", "..", "../templates/docker", "docker/main.tf", "README.md"} {
		if _, ok := Source(id); ok {
			t.Errorf("there is an example %q", id)
		}
	}
}

func TestModules(t *testing.T) {
	list, err := Modules()
	if err != nil || len(list) == 0 {
		t.Fatalf("%v, %v", list, err)
	}
	for _, e := range list {
		if e.Name == "" || e.Description == "" || e.Icon == "" || len(e.Tags) == 0 {
			t.Errorf("%s: the front matter of its README.md lacks something: %+v", e.ID, e)
		}
		if _, ok := ModuleSource(e.ID); !ok {
			t.Errorf("%s has no main.tf", e.ID)
		}
	}
	for _, id := range []string{"", "nothing", "..", "../templates/docker", "code-server/main.tf"} {
		if _, ok := ModuleSource(id); ok {
			t.Errorf("there is a module %q", id)
		}
	}
}

func TestDescribe(t *testing.T) {
	for _, readme := range []string{"", "no front matter", "---\nnever closed\n", "---\n: [\n---\nbroken"} {
		if _, err := describe("x", []byte(readme)); err == nil {
			t.Errorf("%q was taken", readme)
		}
	}
	e, err := describe("x", []byte("---\r\ndescription: d\r\n---\r\n\r\ntext\r\n"))
	if err != nil || e.Name != "x" || e.Description != "d" || e.Markdown != "text" {
		t.Errorf("%+v, %v", e, err)
	}
}
