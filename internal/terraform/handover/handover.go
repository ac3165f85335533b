// Package handover decides, from the source of a template, whether a prebuilt
// workspace can be given to its new owner before Terraform has run for that owner.
//
// That is possible if nothing that Terraform manages depends on the owner. Read
// follows every reference of the source, through locals, variables, outputs and
// modules, to the data sources that differ after a claim: all of
// coder_workspace_owner, the name of coder_workspace and its flags of prebuilds, and
// tokens and secrets of the owner. A resource depends on the owner if one of its
// arguments does, unless lifecycle.ignore_changes names the argument. Values of
// parameters are no dependency: the caller compares them with those of the build.
//
// What cannot be read counts as dependent: JSON files, overrides, modules whose source
// is not there, and anything beyond the bounds of a source.
package handover

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/seed-2a7f8fe7/coder/internal/rule/templatesource"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/form"
)

// Bounds of a source with its modules.
const (
	maxSource  = 8 << 20 // bytes of all configuration files together
	maxModules = 200     // calls, nested ones included
	maxDepth   = 100     // of references and of modules
	maxRules   = 64      // sources that a Cache keeps
)

// Setting is the local value of a template's top directory that overrides Read:
// true hands workspaces over first, false never does.
const Setting = "coder_claim_first"

// Verdict is what Read found.
type Verdict struct {
	// First reports whether a workspace can be handed over before its build.
	First bool
	// Because is the first reason why not, with its place; "" if First.
	Because string
}

// Cache reads sources and keeps the recent verdicts. The zero value is ready to use.
// It is safe for concurrent use.
type Cache struct {
	mu    sync.Mutex
	known map[uuid.UUID]Verdict
}

// Read returns the verdict on a template version. load returns its archives for Read
// and is called if the verdict is not kept. An error of load is returned; a source that
// cannot be read is a verdict.
func (c *Cache) Read(version uuid.UUID, load func() (source, modules []byte, err error)) (Verdict, error) {
	c.mu.Lock()
	v, ok := c.known[version]
	c.mu.Unlock()
	if ok {
		return v, nil
	}
	source, modules, err := load()
	if err != nil {
		return Verdict{}, err
	}
	v = Read(source, modules)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxRules {
		c.known = map[uuid.UUID]Verdict{}
	}
	c.known[version] = v
	return v, nil
}

// Read judges a template: source is its tar archive, modules that of
// .terraform/modules, nil if it has no remote modules.
func Read(source, modules []byte) Verdict {
	t := &tree{files: map[string][]byte{}, dirs: map[string]string{}, left: maxSource}
	if err := errors.Join(t.unpack(source), t.unpack(modules)); err != nil {
		return Verdict{Because: err.Error()}
	}
	root, err := t.load("", "")
	if err != nil {
		return Verdict{Because: err.Error()}
	}
	if e, ok := root.locals[Setting]; ok {
		v, diags := e.Value(nil)
		if diags.HasErrors() || v.Type() != cty.Bool || v.IsNull() || !v.IsKnown() {
			return Verdict{Because: "the local value " + Setting + " must be true or false"}
		}
		if v.False() {
			return Verdict{Because: "the template sets " + Setting + " = false"}
		}
		return Verdict{First: true}
	}
	why := root.dependence()
	return Verdict{First: why == "", Because: why}
}

// tree is the files of a template and of its modules.
type tree struct {
	files map[string][]byte // by path from the top directory
	dirs  map[string]string // directories of remote modules by key, such as "git" or "git.inner"
	left  int64             // bytes
	calls int
	depth int // of references
}

// unpack adds the configuration files of an archive.
func (t *tree) unpack(archive []byte) error {
	for r := tar.NewReader(bytes.NewReader(archive)); len(archive) > 0; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the source cannot be read: %w", err)
		}
		name := path.Clean(h.Name)
		list := name == ".terraform/modules/modules.json"
		if h.Typeflag != tar.TypeReg || !list && !templatesource.IsConfiguration(name) {
			continue
		}
		if h.Size > t.left {
			return errors.New("the source is too large")
		}
		b, err := io.ReadAll(io.LimitReader(r, t.left))
		if err != nil {
			return fmt.Errorf("the source cannot be read: %w", err)
		}
		t.left -= int64(len(b))
		if !list {
			t.files[name] = b
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

// load parses the files of a module. key is its path of calls, "" for the top
// directory.
func (t *tree) load(dir, key string) (*module, error) {
	m := &module{
		tree: t, dir: dir, key: key, locals: map[string]hcl.Expression{}, inputs: map[string]hcl.Expression{}, outputs: map[string]*hclsyntax.Block{},
		blocks: map[string][]*hclsyntax.Block{}, calls: map[string]*hclsyntax.Block{}, children: map[string]*module{}, seen: map[string]string{},
	}
	if t.calls++; t.calls > maxModules {
		return nil, errors.New("the template calls too many modules")
	}
	found := false
	for name, text := range t.files {
		if path.Dir(name) != path.Clean(dir) { // "" is "."
			continue
		}
		found = true
		stem := strings.TrimSuffix(path.Base(name), ".tf")
		switch {
		case templatesource.IsTofu(name), strings.HasSuffix(name, ".json"), stem == "override", strings.HasSuffix(stem, "_override"):
			return nil, fmt.Errorf("%s: files of OpenTofu, JSON files and overrides are not examined", name)
		case form.TooDeep(text):
			return nil, fmt.Errorf("%s nests expressions too deeply", name)
		}
		parsed, diags := hclsyntax.ParseConfig(text, name, hcl.InitialPos)
		body, ok := parsed.Body.(*hclsyntax.Body)
		if diags.HasErrors() || !ok {
			return nil, fmt.Errorf("%s cannot be parsed", name)
		}
		m.read(body)
	}
	if !found {
		return nil, fmt.Errorf("the source of module %q is not stored", key)
	}
	return m, nil
}
