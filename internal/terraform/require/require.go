// Package require finds the providers and modules that a template needs, without running Terraform: in the top
// directory, in the modules that it calls, and in its lock file.
package require

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"

	"github.com/seed-2a7f8fe7/coder/internal/rule/templatesource"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/sourcetree"
)

// Provider is a provider that a template needs.
type Provider struct {
	Source      string   // as in required_providers, such as hashicorp/random
	Constraints []string // of all modules, sorted
	Locked      string   // version in the lock file, "" for none
}

// Module is a module that the import of a template installed from a registry.
type Module struct {
	Source  string // with the hostname of the registry, and with the directory in the package behind //
	Version string
}

// lockFile is where Terraform keeps the versions of providers.
const lockFile = ".terraform.lock.hcl"

// Bounds of what is read.
const (
	maxFile  = 4 << 20 // bytes
	maxDepth = 32      // of nested modules
	maxCalls = 2000    // of modules
)

// Read returns the providers of a template, sorted by source, and its modules. source is the tar of the template,
// installed that of its installed modules, or nil.
func Read(source, installed []byte) (providers []Provider, modules []Module, err error) {
	r := reader{files: map[string][]byte{}, dirs: map[string]string{}, found: map[string]map[string]bool{}}
	for _, data := range [][]byte{installed, source} {
		if err := r.unpack(data); err != nil {
			return nil, nil, err
		}
	}
	var list []sourcetree.InstalledModule
	if text := r.files[sourcetree.ModulesFile]; text != nil {
		if list, err = sourcetree.ParseModules(text); err != nil {
			return nil, nil, err
		}
	}
	for _, m := range list {
		r.dirs[m.Key] = m.Dir
		if m.Version != "" {
			modules = append(modules, Module{Source: m.Source, Version: m.Version})
		}
	}
	if err := r.visit(".", "", 0); err != nil {
		return nil, nil, err
	}
	locked, err := r.locked()
	if err != nil {
		return nil, nil, err
	}
	for _, source := range slices.Sorted(maps.Keys(r.found)) {
		providers = append(providers, Provider{Source: source, Constraints: slices.Sorted(maps.Keys(r.found[source])), Locked: lockOf(locked, source)})
	}
	return providers, modules, nil
}

// lockOf returns the locked version of a source, whichever registry is the default.
func lockOf(locked map[string]string, source string) string {
	if v := locked[source]; v != "" {
		return v
	}
	for address, v := range locked {
		if strings.HasSuffix(address, "/"+source) && strings.Count(source, "/") == 1 {
			return v
		}
	}
	return ""
}

type reader struct {
	files map[string][]byte
	dirs  map[string]string          // directories of modules by key
	found map[string]map[string]bool // constraints by source
	calls int
}

// unpack keeps the files of an archive that are read later.
func (r *reader) unpack(archive []byte) error {
	return sourcetree.Walk(archive, func(name string, size int64, from io.Reader) (err error) {
		wanted := name == lockFile || name == sourcetree.ModulesFile || templatesource.IsTerraform(name)
		if !wanted || size > maxFile {
			return nil
		}
		r.files[name], err = io.ReadAll(from)
		return err
	})
}

// visit reads a module and those that it calls.
func (r *reader) visit(dir, key string, depth int) error {
	if r.calls++; depth > maxDepth || r.calls > maxCalls {
		return errors.New("the template calls too many modules")
	}
	local := map[string]string{} // sources by local name
	var used []string
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		if path.Dir(name) != dir || !templatesource.IsTerraform(name) {
			continue
		}
		body, err := parse(name, r.files[name])
		if err != nil {
			return err
		}
		for _, b := range body.Blocks {
			switch b.Type {
			case "terraform":
				r.settings(b, local)
			case "module":
				if err := r.call(b, dir, key, depth); err != nil {
					return err
				}
			case "provider":
				used = append(used, b.Labels[0])
			default:
				used = append(used, ProviderOf(b))
			}
		}
	}
	for _, name := range used {
		if local[name] == "" && name != "terraform" {
			r.add("hashicorp/"+name, "")
		}
	}
	return nil
}

// parse reads the blocks of a file that matter here.
func parse(name string, src []byte) (*hcl.BodyContent, error) {
	if sourcetree.TooDeep(src) {
		return nil, fmt.Errorf("%s nests expressions too deeply", name)
	}
	parser := hclparse.NewParser()
	read := parser.ParseHCL
	if strings.HasSuffix(name, ".json") {
		read = parser.ParseJSON
	}
	file, diags := read(src, name)
	if diags.HasErrors() {
		return nil, fmt.Errorf("%s: %w", name, diags)
	}
	content, _, _ := file.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "terraform"}, {Type: "provider", LabelNames: []string{"name"}}, {Type: "module", LabelNames: []string{"name"}},
		{Type: "resource", LabelNames: []string{"type", "name"}}, {Type: "data", LabelNames: []string{"type", "name"}},
		{Type: "ephemeral", LabelNames: []string{"type", "name"}},
	}})
	return content, nil
}

// settings reads the required_providers of a terraform block.
func (r *reader) settings(b *hcl.Block, local map[string]string) {
	content, _, _ := b.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "required_providers"}}})
	for _, inner := range content.Blocks {
		attrs, _ := inner.Body.JustAttributes()
		for name, attr := range attrs {
			source, version := "hashicorp/"+name, text(attr.Expr) // a version alone in old templates
			pairs, diags := hcl.ExprMap(attr.Expr)
			if !diags.HasErrors() {
				version = ""
			}
			for _, p := range pairs {
				switch key := keyOf(p.Key); {
				case key == "source" && text(p.Value) != "":
					source = strings.ToLower(text(p.Value))
				case key == "version":
					version = text(p.Value)
				}
			}
			local[name] = source
			r.add(source, version)
		}
	}
}

func keyOf(e hcl.Expression) string {
	if k := hcl.ExprAsKeyword(e); k != "" {
		return k
	}
	return text(e)
}

// text returns the text of an expression without references, or "".
func text(e hcl.Expression) string {
	v, diags := e.Value(nil)
	if diags.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type().FriendlyName() != "string" {
		return ""
	}
	return v.AsString()
}

// call visits the module of a block, if its files are known.
func (r *reader) call(b *hcl.Block, dir, key string, depth int) error {
	content, _, _ := b.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "source"}}})
	child := strings.TrimPrefix(key+"."+b.Labels[0], ".")
	if attr, ok := content.Attributes["source"]; ok {
		if source := text(attr.Expr); strings.HasPrefix(source, "./") || strings.HasPrefix(source, "../") {
			return r.visit(path.Join(dir, source), child, depth+1)
		}
	}
	if at, ok := r.dirs[child]; ok {
		return r.visit(at, child, depth+1)
	}
	return nil
}

// ProviderOf returns the local name of the provider of a resource or data block.
func ProviderOf(b *hcl.Block) string {
	content, _, _ := b.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "provider"}}})
	if attr, ok := content.Attributes["provider"]; ok {
		if traversal, diags := hcl.AbsTraversalForExpr(attr.Expr); !diags.HasErrors() {
			return traversal.RootName()
		}
	}
	name, _, _ := strings.Cut(b.Labels[0], "_")
	return name
}

// add records a provider that has to be installed.
func (r *reader) add(source, constraint string) {
	switch strings.TrimPrefix(strings.TrimPrefix(source, "registry.terraform.io/"), "registry.opentofu.org/") {
	case "coder/coder", "terraform.io/builtin/terraform":
		return
	}
	if r.found[source] == nil {
		r.found[source] = map[string]bool{}
	}
	if constraint != "" {
		r.found[source][constraint] = true
	}
}

// locked returns the versions in the lock file by address.
func (r *reader) locked() (map[string]string, error) {
	out := map[string]string{}
	src := r.files[lockFile]
	if src == nil {
		return out, nil
	}
	file, diags := hclparse.NewParser().ParseHCL(src, lockFile)
	if diags.HasErrors() {
		return nil, fmt.Errorf("%s: %w", lockFile, diags)
	}
	content, _, _ := file.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "provider", LabelNames: []string{"address"}}}})
	for _, b := range content.Blocks {
		attrs, _, _ := b.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "version"}}})
		if attr, ok := attrs.Attributes["version"]; ok {
			out[strings.ToLower(b.Labels[0])] = text(attr.Expr)
		}
	}
	return out, nil
}
