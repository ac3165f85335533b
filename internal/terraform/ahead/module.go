package ahead

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/seed-2a7f8fe7/coder/internal/terraform/sourcetree"
)

// coderProvider is the provider whose plans depend on the inputs of the build only.
const coderProvider = "coder/coder"

// pure are the providers whose resources exist in the state only.
var pure = []string{coderProvider, "builtin/terraform", "hashicorp/random", "hashicorp/null"}

// providerSource returns an address without the host of a public registry.
func providerSource(address string) string {
	for _, host := range []string{"registry.terraform.io/", "registry.opentofu.org/", "terraform.io/"} {
		address = strings.TrimPrefix(address, host)
	}
	return strings.ToLower(address)
}

// module is a directory with configuration.
type module struct {
	tree      *tree
	dir       string
	providers map[string]string // addresses by local name
}

// readProviders reads the addresses of providers.
func (m *module) readProviders(body *hclsyntax.Body) {
	for _, b := range body.Blocks {
		for _, inner := range b.Body.Blocks {
			if b.Type != "terraform" || inner.Type != "required_providers" {
				continue
			}
			for name, a := range inner.Body.Attributes {
				m.providers[name] = "hashicorp/" + name
				v, _ := a.Expr.Value(nil)
				if !v.IsKnown() || v.IsNull() || !v.Type().IsObjectType() || !v.Type().HasAttribute("source") {
					continue
				}
				if s := v.GetAttr("source"); s.Type() == cty.String && s.IsKnown() && !s.IsNull() {
					m.providers[name] = providerSource(s.AsString())
				}
			}
		}
	}
}

// provider returns the address of the provider of a resource or a data source.
func (m *module) provider(b *hclsyntax.Block) string {
	name, _, _ := strings.Cut(b.Labels[0], "_")
	if a, ok := b.Body.Attributes["provider"]; ok {
		t, diags := hcl.AbsTraversalForExpr(a.Expr)
		if diags.HasErrors() {
			return "that an expression chooses"
		}
		name = t.RootName()
	}
	return m.named(name)
}

// named returns the address of the provider with a local name.
func (m *module) named(name string) string {
	if source, ok := m.providers[name]; ok {
		return source
	}
	switch name {
	case "terraform":
		return "builtin/terraform"
	case "coder":
		return coderProvider
	}
	return "hashicorp/" + name
}

// known are the blocks that are examined.
var known = []string{"terraform", "locals", "variable", "output", "module", "moved", "removed", "check", "provider", "resource", "data"}

// coderData are the data sources of the coder provider that depend on inputs of the build
// only, apart from the attributes of secret.
var coderData = []string{
	"coder_workspace", "coder_workspace_owner", "coder_parameter", "coder_provisioner", "coder_workspace_preset", "coder_workspace_tags",
	"coder_external_auth", "coder_task",
}

// ofBlock returns why a block prevents plans ahead.
func (m *module) ofBlock(b *hclsyntax.Block) error {
	here := sourcetree.Place(b.DefRange()) + ": "
	outside := func(text string, args ...any) error {
		if m.tree.vouched {
			return m.ofBody(b.Body)
		}
		return fmt.Errorf(here+text+"; it may read the world outside when it plans, unless the template sets "+Setting+" = true", args...)
	}
	switch {
	case !slices.Contains(known, b.Type):
		return fmt.Errorf(here+"%s blocks are not examined", b.Type)
	case b.Type == "terraform":
		for _, inner := range b.Body.Blocks {
			if inner.Type == "backend" || inner.Type == "cloud" {
				return errors.New(here + "the template configures a backend")
			}
		}
		return nil
	case b.Type == "provider" && len(b.Labels) == 1 && !slices.Contains(pure, m.named(b.Labels[0])):
		return outside("the provider %s", m.named(b.Labels[0]))
	case b.Type == "resource" && len(b.Labels) == 2 && !slices.Contains(pure, m.provider(b)):
		return outside("%s is of the provider %s", strings.Join(b.Labels, "."), m.provider(b))
	case b.Type == "data" && len(b.Labels) == 2 && m.provider(b) != coderProvider:
		return outside("data.%s is of the provider %s", strings.Join(b.Labels, "."), m.provider(b))
	case b.Type == "data" && len(b.Labels) == 2 && !slices.Contains(coderData, b.Labels[0]):
		return fmt.Errorf(here+"data.%s is not examined", strings.Join(b.Labels, "."))
	}
	return m.ofBody(b.Body)
}

// ofBody returns why an argument of a block, or of a block in it, prevents plans ahead.
func (m *module) ofBody(body *hclsyntax.Body) error {
	for name, a := range body.Attributes {
		if name == "depends_on" {
			continue
		}
		if err := m.ofExpression(a.Expr); err != nil {
			return err
		}
	}
	for _, b := range body.Blocks {
		check := m.ofBody
		if b.Type == "data" { // in a check block
			check = func(*hclsyntax.Body) error { return m.ofBlock(b) }
		}
		if err := check(b.Body); err != nil {
			return err
		}
	}
	return nil
}

// ofExpression returns why an expression prevents plans ahead.
func (m *module) ofExpression(e hclsyntax.Expression) error {
	var found error
	hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics { //nolint:errcheck // it returns none
		if found != nil {
			return nil
		}
		switch n := n.(type) {
		case *hclsyntax.FunctionCallExpr:
			found = m.ofCall(n)
		case *hclsyntax.ScopeTraversalExpr:
			if why := ofReference(n.Traversal); why != "" {
				found = fmt.Errorf("%s: the template reads %s", sourcetree.Place(n.Range()), why)
			}
		}
		return nil
	})
	return found
}

// secret are the attributes of data sources that are issued for one build.
var secret = []string{"session_token", "oidc_access_token", "access_token"}

// ofReference returns what a reference reads that prevents plans ahead.
func ofReference(t hcl.Traversal) string {
	root, kind := t.RootName(), sourcetree.Step(t, 1)
	switch {
	case root == "ephemeral":
		return "an ephemeral resource"
	case root == "path" && kind != "module" && kind != "root":
		return "the directory of the build"
	case root == "terraform" && kind != "workspace":
		return "how Terraform runs"
	case root == "data" && len(t) < 3:
		return "data sources as a whole"
	case root != "data" || kind != "coder_workspace_owner" && kind != "coder_external_auth":
		return ""
	}
	attribute := false
	for i := range t[3:] {
		if slices.Contains(secret, sourcetree.Step(t, i+3)) {
			return "a token that is issued for each build"
		}
		_, is := t[i+3].(hcl.TraverseAttr)
		attribute = attribute || is
	}
	if !attribute {
		return "data." + kind + " as a whole, with a token that is issued for each build"
	}
	return ""
}

// functions are those whose results depend on their arguments only, or on HOME, which is part
// of the basis, and those that are known only during the apply.
var functions = strings.Fields(`abs ceil floor log max min parseint pow signum
chomp endswith format formatlist indent join lower regex regexall replace split startswith strcontains strrev substr
title trim trimprefix trimsuffix trimspace upper
alltrue anytrue chunklist coalesce coalescelist compact concat contains distinct element flatten index keys length list lookup map matchkeys merge
one range reverse setintersection setproduct setsubtract setunion slice sort sum transpose values zipmap
base64decode base64encode base64gzip csvdecode jsondecode jsonencode textdecodebase64 textencodebase64 urlencode urldecode yamldecode yamlencode
basename dirname formatdate timeadd timecmp base64sha256 base64sha512 md5 rsadecrypt sha1 sha256 sha512 uuidv5
cidrhost cidrnetmask cidrsubnet cidrsubnets can issensitive nonsensitive sensitive tobool tolist tomap tonumber toset tostring try type
pathexpand timestamp uuid bcrypt`)

// readers are the functions that read files.
var readers = strings.Fields("file filebase64 filebase64sha256 filebase64sha512 fileexists filemd5 fileset filesha1 filesha256 filesha512 templatefile")

// ofCall returns why a call of a function prevents plans ahead. The visitor examines its
// arguments.
func (m *module) ofCall(c *hclsyntax.FunctionCallExpr) error {
	here := sourcetree.Place(c.Range()) + ": "
	name := strings.TrimPrefix(c.Name, "core::")
	switch {
	case slices.Contains(functions, name):
		return nil
	case !slices.Contains(readers, name) || len(c.Args) == 0:
		return fmt.Errorf(here+"the result of %s may change", c.Name)
	}
	count := 1
	if name == "fileset" {
		count = 2
	}
	var paths []string
	for _, a := range c.Args[:min(count, len(c.Args))] {
		p, ok := m.constant(a)
		if !ok || path.IsAbs(p) || strings.HasPrefix(p, "~") || slices.Contains(strings.Split(path.Clean(p), "/"), "..") {
			return fmt.Errorf(here+"%s may read a file outside of the source", c.Name)
		}
		paths = append(paths, path.Clean(p))
	}
	if name != "templatefile" {
		return nil
	}
	text, ok := m.tree.File(paths[0])
	if !ok {
		return fmt.Errorf(here+"%s is not in the source", paths[0])
	}
	e, diags := hclsyntax.ParseTemplate(text, paths[0], hcl.InitialPos)
	if diags.HasErrors() {
		return fmt.Errorf(here+"%s cannot be parsed", paths[0])
	}
	nested := &module{tree: m.tree, dir: m.dir, providers: m.providers}
	if m.tree.templates++; m.tree.templates > maxTemplates {
		return errors.New(here + "the template reads too many files")
	}
	return nested.ofExpression(e)
}

// constant returns the value of a path that depends on the place of the module only.
func (m *module) constant(e hclsyntax.Expression) (string, bool) {
	v, diags := e.Value(&hcl.EvalContext{Variables: map[string]cty.Value{
		"path": cty.ObjectVal(map[string]cty.Value{"module": cty.StringVal(m.dir), "root": cty.StringVal(".")}),
	}})
	if diags.HasErrors() || v.Type() != cty.String || !v.IsKnown() || v.IsNull() {
		return "", false
	}
	return v.AsString(), true
}
