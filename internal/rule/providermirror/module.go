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

// Module returns the address of a module. Its Type is the name of the module and its target system, such as vpc/aws.
func Module(hostname, namespace, name, system string) Address {
	return Address{Hostname: strings.ToLower(hostname), Namespace: namespace, Type: name + "/" + system}
}

// checkModule returns a CodeInvalid error for parts that no address of a module has.
func (a Address) checkModule() error {
	name, system, _ := strings.Cut(a.Type, "/")
	for _, s := range []string{a.Namespace, name, system} {
		if len(s) > maxName || !modulePart.MatchString(s) {
			return notModule(a.String())
		}
	}
	return nil
}

func notModule(text string) error {
	return codersdk.Invalid("module", "%.300q is not the address of a module; use hostname/namespace/name/system", text)
}

// ParseModule reads the address of a module: hostname/namespace/name/system.
func ParseModule(text string) (Address, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 4 {
		return Address{}, notModule(text)
	}
	a := Module(parts[0], parts[1], parts[2], parts[3])
	return a, a.Check()
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
