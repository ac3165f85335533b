package require

import (
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/seed-2a7f8fe7/coder/internal/rule/templatesource"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/sourcetree"
)

// Affects reports whether Terraform or OpenTofu reads files of this name.
func Affects(name string) bool {
	return templatesource.IsConfiguration(name) || strings.HasSuffix(name, ".tftest.hcl") || strings.HasSuffix(name, ".tfvars")
}

// WriteDir writes the requirements of the files below a directory to a hash.
func WriteDir(h hash.Hash, dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".terraform" {
			return filepath.SkipDir
		}
		if d.IsDir() || !Affects(d.Name()) {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		fmt.Fprintf(h, "%q\n", rel)
		Write(h, d.Name(), src)
		return err
	})
}

// Write writes the requirements of a file to a hash, in a form that is independent of
// the rest of the file. A file or block that is not understood is written as a
// whole.
func Write(h hash.Hash, name string, src []byte) {
	whole := func() { fmt.Fprintf(h, "%q\n", src) }
	if strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".tfvars") || len(src) > maxFile || sourcetree.TooDeep(src) {
		whole()
		return
	}
	file, diags := hclparse.NewParser().ParseHCL(src, name)
	if diags.HasErrors() {
		whole()
		return
	}
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok {
		whole()
		return
	}
	var lines []string
	for _, b := range body.Blocks {
		line, ok := requirement(b, src)
		if !ok {
			whole()
			return
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	fmt.Fprintf(h, "%q\n", slices.Compact(lines))
}

// requirement returns the requirement of one block, "" for none. It returns
// false if only the whole file determines it.
func requirement(b *hclsyntax.Block, src []byte) (string, bool) {
	attribute := func(name string) string {
		if a, ok := b.Body.Attributes[name]; ok {
			return string(hcl.RangeBetween(a.Expr.Range(), a.Expr.Range()).SliceBytes(src))
		}
		return ""
	}
	switch b.Type {
	case "variable", "locals", "output":
		return "", true
	case "resource", "data", "ephemeral":
		if len(b.Labels) != 2 {
			return "", false
		}
		provider, _, _ := strings.Cut(b.Labels[0], "_")
		return fmt.Sprintf("provider of %q, else %q", attribute("provider"), provider), true
	case "module":
		for _, name := range []string{"source", "version"} {
			// In OpenTofu they may depend on variables and locals.
			if a, ok := b.Body.Attributes[name]; ok && len(a.Expr.Variables()) > 0 {
				return "", false
			}
		}
		return fmt.Sprintf("module %q %q %q", b.Labels, attribute("source"), attribute("version")), true
	}
	return string(b.Range().SliceBytes(src)), true
}
