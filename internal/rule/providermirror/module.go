package providermirror

import (
	"regexp"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// LocationHeader is the header in which a registry names where a module is.
const LocationHeader = "X-Terraform-Get"

// modulePart matches a part of the address of a module. Unlike those of providers, they keep their case.
var modulePart = regexp.MustCompile(`^[0-9A-Za-z]([0-9A-Za-z_-]*[0-9A-Za-z])?$`)

// Module returns the address of a module. Its type is the name of the module and its target system, such as
// vpc/aws.
func Module(hostname, namespace, name, system string) Provider {
	return Provider{Hostname: strings.ToLower(hostname), Namespace: namespace, Type: name + "/" + system}
}

// IsModule reports whether the archives are those of a module. They are for all platforms.
func (p Provider) IsModule() bool { return strings.Contains(p.Type, "/") }

// checkModule returns a CodeInvalid error for parts that no address of a module has.
func (p Provider) checkModule() error {
	name, system, _ := strings.Cut(p.Type, "/")
	for _, s := range []string{p.Namespace, name, system} {
		if len(s) > maxName || !modulePart.MatchString(s) {
			return codersdk.Invalid("module", "%.300q is not the address of a module; use hostname/namespace/name/system", p.String())
		}
	}
	return nil
}

// ParseModule returns the address in the source of an installed module, as Terraform writes it into its list of
// modules: hostname/namespace/name/system//directory. It reports false for modules that come from no registry.
func ParseModule(source string) (Provider, bool) {
	address, _, _ := strings.Cut(source, "//")
	parts := strings.Split(address, "/")
	if len(parts) != 4 {
		return Provider{}, false
	}
	p := Module(parts[0], parts[1], parts[2], parts[3])
	return p, p.Check() == nil
}

// ModuleVersions is the list of versions in the module registry protocol.
type ModuleVersions struct {
	Modules []ModuleList `json:"modules"` // one
}

// ModuleList has the versions of one module.
type ModuleList struct {
	Versions []ModuleVersion `json:"versions"`
}

// ModuleVersion is a version of a module.
type ModuleVersion struct {
	Version string `json:"version"`
}

// ModuleLocation names where a module is, in the body of an answer whose LocationHeader names the same.
type ModuleLocation struct {
	Location string `json:"location"`
}
