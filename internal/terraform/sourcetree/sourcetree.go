// Package sourcetree reads the configuration of a template and of its modules, for packages
// that work without Terraform.
//
// A Tree is for packages that judge a template. Files of OpenTofu, overrides, JSON files and
// modules whose source is not stored are errors of it: such packages cannot judge them.
package sourcetree

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/seed-2a7f8fe7/coder/internal/rule/templatesource"
)

// Bounds of a source with its modules.
const (
	maxSource = 32 << 20 // bytes of the files that are kept
	maxDirs   = 200      // parsed directories; one is parsed for each call of a module
)

// Tree is the files of a template and of its modules.
type Tree struct {
	keep   func(name string) bool
	files  map[string][]byte // by path from the top directory
	dirs   map[string]string // directories of remote modules by key, such as "git" or "git.inner"
	left   int64             // bytes
	parsed int               // directories
}

// Read reads a template: source is its tar archive, modules that of .terraform/modules, nil
// if it has no remote modules. Files are kept if keep returns true for their path.
func Read(source, modules []byte, keep func(name string) bool) (*Tree, error) {
	t := &Tree{keep: keep, files: map[string][]byte{}, dirs: map[string]string{}, left: maxSource}
	return t, errors.Join(t.unpack(source), t.unpack(modules))
}

// unpack adds the files of an archive.
func (t *Tree) unpack(archive []byte) error {
	return Walk(archive, func(name string, size int64, r io.Reader) error {
		if name != ModulesFile && !t.keep(name) {
			return nil
		}
		if size > t.left {
			return errors.New("the source is too large to be examined")
		}
		b, err := io.ReadAll(r)
		if err != nil {
			return fmt.Errorf("the archive is damaged: %w", err)
		}
		t.left -= int64(len(b))
		if name != ModulesFile {
			t.files[name] = b
			return nil
		}
		modules, err := ParseModules(b)
		for _, m := range modules {
			t.dirs[m.Key] = m.Dir
		}
		return err
	})
}

// File returns the content of a file; false if there is none. Its path starts at the top directory.
func (t *Tree) File(name string) ([]byte, bool) {
	b, ok := t.files[name]
	return b, ok
}

// Parse returns the configuration files of a directory, in the order of their names.
func (t *Tree) Parse(dir string) ([]*hclsyntax.Body, error) {
	if t.parsed++; t.parsed > maxDirs {
		return nil, errors.New("the template calls too many modules")
	}
	var bodies []*hclsyntax.Body
	for _, name := range slices.Sorted(maps.Keys(t.files)) {
		if path.Dir(name) != path.Clean(dir) || !templatesource.IsConfiguration(name) {
			continue
		}
		text := t.files[name]
		switch {
		case templatesource.IsTofu(name), Foreign(name):
			return nil, fmt.Errorf("%s: files of OpenTofu, overrides and JSON files are not examined", name)
		case TooDeep(text):
			return nil, fmt.Errorf("%s nests expressions too deeply", name)
		}
		file, diags := hclsyntax.ParseConfig(text, name, hcl.InitialPos)
		body, ok := file.Body.(*hclsyntax.Body)
		if diags.HasErrors() || !ok {
			return nil, fmt.Errorf("%s cannot be parsed", name)
		}
		bodies = append(bodies, body)
	}
	if len(bodies) == 0 {
		return nil, fmt.Errorf("the source of the directory %q is not stored", dir)
	}
	return bodies, nil
}

// Directory returns the directory of the module that a block in dir calls. key is its path of
// calls, such as "git.inner".
func (t *Tree) Directory(dir, key string, call *hclsyntax.Block) (string, error) {
	if to, ok := t.dirs[key]; ok {
		return to, nil
	}
	if a, ok := call.Body.Attributes["source"]; ok {
		if source, ok := text(a.Expr); ok && strings.HasPrefix(source, ".") {
			return path.Join(dir, source), nil
		}
	}
	return "", fmt.Errorf("%s: the source of module %q is not stored", Place(call.DefRange()), key)
}

func text(e hclsyntax.Expression) (string, bool) {
	v, diags := e.Value(nil)
	if diags.HasErrors() || v.Type() != cty.String || !v.IsKnown() || v.IsNull() {
		return "", false
	}
	return v.AsString(), true
}

// Setting returns a boolean local value of a module, with which the author of a template
// overrides a judgement; nil if the module does not set it.
func Setting(bodies []*hclsyntax.Body, name string) (*bool, error) {
	for _, body := range bodies {
		for _, b := range body.Blocks {
			a, ok := b.Body.Attributes[name]
			if b.Type != "locals" || !ok {
				continue
			}
			v, diags := a.Expr.Value(nil)
			if diags.HasErrors() || v.Type() != cty.Bool || v.IsNull() || !v.IsKnown() {
				return nil, fmt.Errorf("%s: the local value %s must be true or false", Place(a.SrcRange), name)
			}
			return new(v.True()), nil
		}
	}
	return nil, nil
}

// Step returns the name of a step of a reference: of an attribute, or of an index that is a
// string. It returns "" for others, and beyond the end.
func Step(t hcl.Traversal, i int) string {
	if i >= len(t) {
		return ""
	}
	switch s := t[i].(type) {
	case hcl.TraverseAttr:
		return s.Name
	case hcl.TraverseIndex:
		if s.Key.Type() == cty.String && s.Key.IsKnown() && !s.Key.IsNull() {
			return s.Key.AsString()
		}
	}
	return ""
}

// Place returns the file and line of a range.
func Place(r hcl.Range) string { return fmt.Sprintf("%s:%d", r.Filename, r.Start.Line) }
