// Package ahead is about plans that Terraform makes before the build that applies them.
// Read decides, from the source of a template, whether such a plan is the plan that the
// build would make. Plan is what is kept of it.
//
// A plan can be made ahead if it depends on nothing but inputs that the server compares
// when the build begins. So the source must not read tokens that are issued for one build,
// the clock, or files outside of it, and must not use functions that are not known to be
// pure. timestamp, uuid and bcrypt are known only during the apply, and so are no input.
// Providers may read the world outside while they plan. Those of pure do not; for others
// the author of the template must vouch, with the local value Setting.
//
// What cannot be read does not qualify: JSON files, files of OpenTofu, and modules whose
// source is not there.
package ahead

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/seed-2a7f8fe7/coder/internal/rule/templatesource"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/form"
)

// Bounds of a source with its modules.
const (
	maxSource  = 32 << 20 // bytes of all files together
	maxModules = 200      // calls, nested ones included
)

// Setting is the local value of a template's top directory about plans ahead: false
// prevents them, true vouches that its providers plan the same for as long as a plan is
// kept.
const Setting = "coder_plan_ahead"

// Verdict is what Read found.
type Verdict struct {
	// Because is the first reason why no plan can be made ahead, with its place; "" if
	// there is none.
	Because string
	// Vouched reports whether the template sets Setting to true.
	Vouched bool
}

// Read judges a template: source is its tar archive, modules that of
// .terraform/modules, nil if it has no remote modules.
func Read(source, modules []byte) Verdict {
	t := &tree{files: map[string][]byte{}, dirs: map[string]string{}, left: maxSource}
	if err := errors.Join(t.unpack(source), t.unpack(modules)); err != nil {
		return Verdict{Because: err.Error()}
	}
	root, err := t.parse(".")
	if err != nil {
		return Verdict{Because: err.Error()}
	}
	set, err := setting(root)
	switch {
	case err != nil:
		return Verdict{Because: err.Error()}
	case set != nil && !*set:
		return Verdict{Because: "the template sets " + Setting + " = false"}
	}
	t.vouched = set != nil
	if err := t.check(".", "", root); err != nil {
		return Verdict{Because: err.Error(), Vouched: t.vouched}
	}
	return Verdict{Vouched: t.vouched}
}

// setting returns the value of Setting, nil if the template does not set it.
func setting(root []*hclsyntax.Body) (*bool, error) {
	for _, body := range root {
		for _, b := range body.Blocks {
			a, ok := b.Body.Attributes[Setting]
			if b.Type != "locals" || !ok {
				continue
			}
			v, diags := a.Expr.Value(nil)
			if diags.HasErrors() || v.Type() != cty.Bool || v.IsNull() || !v.IsKnown() {
				return nil, fmt.Errorf("%s: the local value %s must be true or false", place(a.SrcRange), Setting)
			}
			set := v.True()
			return &set, nil
		}
	}
	return nil, nil
}

// tree is the files of a template and of its modules.
type tree struct {
	files   map[string][]byte // by path from the top directory
	dirs    map[string]string // directories of remote modules by key, such as "git" or "git.inner"
	left    int64             // bytes
	calls   int
	vouched bool
}

// unpack adds the files of an archive.
func (t *tree) unpack(archive []byte) error {
	for r := tar.NewReader(bytes.NewReader(archive)); len(archive) > 0; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the source cannot be read: %w", err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if h.Size > t.left {
			return errors.New("the source is too large to be examined")
		}
		b, err := io.ReadAll(io.LimitReader(r, t.left))
		if err != nil {
			return fmt.Errorf("the source cannot be read: %w", err)
		}
		t.left -= int64(len(b))
		name := path.Clean(h.Name)
		t.files[name] = b
		if name != ".terraform/modules/modules.json" {
			continue
		}
		var installed struct{ Modules []struct{ Key, Dir string } }
		if err := json.Unmarshal(b, &installed); err != nil {
			return fmt.Errorf("the list of modules cannot be read: %w", err)
		}
		for _, m := range installed.Modules {
			t.dirs[m.Key] = path.Clean(m.Dir)
		}
	}
	return nil
}

// parse returns the configuration files of a directory.
func (t *tree) parse(dir string) (bodies []*hclsyntax.Body, err error) {
	for name, text := range t.files {
		if path.Dir(name) != dir || !templatesource.IsTerraform(name) && !templatesource.IsTofu(name) {
			continue
		}
		switch {
		case templatesource.IsTofu(name), strings.HasSuffix(name, ".json"):
			return nil, fmt.Errorf("%s: files of OpenTofu and JSON files are not examined", name)
		case form.TooDeep(text):
			return nil, fmt.Errorf("%s nests expressions too deeply", name)
		}
		file, diags := hclsyntax.ParseConfig(text, name, hcl.InitialPos)
		body, ok := file.Body.(*hclsyntax.Body)
		if diags.HasErrors() || !ok {
			return nil, fmt.Errorf("%s cannot be parsed", name)
		}
		bodies = append(bodies, body)
	}
	return bodies, nil
}

// check checks the module in a directory and those that it calls. key is its path of
// calls.
func (t *tree) check(dir, key string, bodies []*hclsyntax.Body) error {
	if t.calls++; t.calls > maxModules {
		return errors.New("the template calls too many modules")
	}
	if len(bodies) == 0 {
		return fmt.Errorf("the source of module %q is not stored", key)
	}
	m := &module{tree: t, dir: dir, providers: map[string]string{}}
	for _, body := range bodies {
		m.readProviders(body)
	}
	for _, body := range bodies {
		for _, b := range body.Blocks {
			if err := m.ofBlock(b); err != nil {
				return err
			}
			if b.Type != "module" || len(b.Labels) != 1 {
				continue
			}
			below := strings.TrimPrefix(key+"."+b.Labels[0], ".")
			to, err := t.directory(dir, below, b)
			if err != nil {
				return err
			}
			child, err := t.parse(to)
			if err == nil {
				err = t.check(to, below, child)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// directory returns the directory of the module that a block in dir calls.
func (t *tree) directory(dir, key string, b *hclsyntax.Block) (string, error) {
	if to, ok := t.dirs[key]; ok {
		return to, nil
	}
	if a, ok := b.Body.Attributes["source"]; ok {
		v, diags := a.Expr.Value(nil)
		if !diags.HasErrors() && v.Type() == cty.String && v.IsKnown() && !v.IsNull() && strings.HasPrefix(v.AsString(), ".") {
			return path.Join(dir, v.AsString()), nil
		}
	}
	return "", fmt.Errorf("%s: the source of module %q is not stored", place(b.DefRange()), key)
}

func place(r hcl.Range) string { return fmt.Sprintf("%s:%d", r.Filename, r.Start.Line) }
