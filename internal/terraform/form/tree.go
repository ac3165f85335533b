package form

import (
	"archive/tar"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/rule/templatesource"
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

// manifest is where Terraform lists the modules that it installed.
const manifest = ".terraform/modules/modules.json"

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
	if err := walk(modules, func(name string, _ int64, r io.Reader) error {
		if name != manifest {
			return nil
		}
		var list struct{ Modules []struct{ Key, Dir string } }
		if err := json.NewDecoder(io.LimitReader(r, maxManifest)).Decode(&list); err != nil {
			return err
		}
		for _, m := range list.Modules {
			t.dirs[m.Key] = path.Clean(strings.ReplaceAll(m.Dir, `\`, "/"))
		}
		return nil
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
	if err := walk(archive, take); err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	if err := walk(modules, take); err != nil {
		return nil, fmt.Errorf("read modules of the template: %w", err)
	}
	return t, nil
}

// walk calls f with the regular files of a tar archive and their clean names. Without an archive there are none.
func walk(archive []byte, f func(name string, size int64, r io.Reader) error) error {
	if archive == nil {
		return nil
	}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := f(path.Clean(h.Name), h.Size, r); err != nil {
			return err
		}
	}
}

// Foreign reports whether a file is configuration in JSON or overrides other files. Packages
// that read sources without Terraform do not read such files, which may declare more.
func Foreign(file string) bool {
	name := path.Base(file)
	return strings.HasSuffix(name, ".tf.json") || name == "override.tf" || strings.HasSuffix(name, "_override.tf")
}

// add keeps a file of configuration, whose name is clean.
func (t *tree) add(name string, text []byte) {
	dir := path.Dir(name)
	t.foreign[dir] = t.foreign[dir] || Foreign(name)
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

// TooDeep reports nesting beyond any real template. The parser is recursive,
// and a stack overflow would end the process.
func TooDeep(src []byte) bool {
	const limit = 2000
	depth, signs, conditions := 0, 0, 0
	for _, c := range src {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(depth-1, 0)
		case '?':
			conditions++
		}
		switch c {
		case '!', '-':
			signs++
		case ' ', '\t':
		default:
			signs = 0
		}
		if depth > limit || signs > limit || conditions > 10*limit {
			return true
		}
	}
	return false
}
