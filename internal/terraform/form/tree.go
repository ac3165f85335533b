package form

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/seed-2a7f8fe7/coder/internal/rule/templatesource"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/sourcetree"
)

// Bounds of a source.
const (
	maxTree     = 8 << 20 // bytes of configuration files that are kept while the source is read
	maxSource   = 1 << 20 // bytes of the files that are parsed, with those of modules
	maxManifest = 1 << 20 // bytes of Terraform's list of modules
	maxModules  = 100     // calls in a template and its modules
	maxNesting  = 10      // of modules
)

// root is the directory of the template itself.
const root = "."

// tree is the configuration files of a template and its modules.
type tree struct {
	files   map[string][]source // by directory
	foreign map[string]bool     // directories with files that this package does not read
	dirs    map[string]string   // directories of installed modules by key, such as "ide.settings"
	kept    int                 // bytes in files
	parsed  int                 // bytes
	calls   int
}

type source struct {
	name string // in the template's directory
	text []byte
}

func newTree() *tree {
	return &tree{files: map[string][]source{}, foreign: map[string]bool{}, dirs: map[string]string{}}
}

// readTree reads the archives of a template and of its installed modules.
func readTree(archive, modules []byte) (*tree, error) {
	t := newTree()
	if err := sourcetree.Walk(modules, func(name string, _ int64, r io.Reader) error {
		if name != sourcetree.ModulesFile {
			return nil
		}
		text, err := io.ReadAll(io.LimitReader(r, maxManifest))
		if err != nil {
			return err
		}
		list, err := sourcetree.ParseModules(text)
		for _, m := range list {
			t.dirs[m.Key] = m.Dir
		}
		return err
	}); err != nil {
		return nil, fmt.Errorf("read modules of the template: %w", err)
	}
	installed := map[string]bool{root: true}
	for _, dir := range t.dirs {
		installed[dir] = true
	}
	take := func(name string, size int64, r io.Reader) error {
		dir := path.Dir(name)
		switch {
		case len(t.dirs) > 0 && !installed[dir], !templatesource.IsTerraform(name):
			return nil
		case size > int64(maxTree-t.kept):
			t.foreign[dir] = true
			return nil
		}
		b, err := io.ReadAll(r)
		t.add(name, b)
		return err
	}
	if err := sourcetree.Walk(archive, take); err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	if err := sourcetree.Walk(modules, take); err != nil {
		return nil, fmt.Errorf("read modules of the template: %w", err)
	}
	return t, nil
}

// add keeps a file of configuration, whose name is clean.
func (t *tree) add(name string, text []byte) {
	dir := path.Dir(name)
	t.foreign[dir] = t.foreign[dir] || sourcetree.Foreign(name)
	t.files[dir] = append(t.files[dir], source{name, text})
	t.kept += len(text)
}

// of returns the files of a module in the order of their names. It reports false if the
// module is not there, or has files that this package does not read.
func (t *tree) of(dir string) ([]source, bool) {
	files := slices.SortedFunc(slices.Values(t.files[dir]), func(a, b source) int { return cmp.Compare(a.name, b.name) })
	for _, file := range files {
		t.parsed += len(file.text)
	}
	return files, len(files) > 0 && !t.foreign[dir] && t.parsed <= maxSource
}
