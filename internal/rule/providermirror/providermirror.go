// Package providermirror has the API types of the provider mirror, and the rules of the addresses of
// providers and of the names of their archives.
package providermirror

import (
	"regexp"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Public registries. The first two are the hostnames of providers and modules whose source has none.
const (
	TerraformRegistry = "registry.terraform.io"
	OpenTofuRegistry  = "registry.opentofu.org"
	CoderRegistry     = "registry.coder.com"
)

// Address is the address of a provider, all parts in lower case, of a module or of a program.
type Address struct {
	Hostname  string `json:"hostname"` // of the origin registry, with its port if it has one
	Namespace string `json:"namespace"`
	Type      string `json:"type"` // name/system for modules
}

// String returns the address with its hostname, such as registry.terraform.io/hashicorp/random.
func (a Address) String() string { return a.Hostname + "/" + a.Namespace + "/" + a.Type }

// Kind is what an address stands for.
type Kind string

// Kinds.
const (
	KindProvider Kind = "provider"
	KindModule   Kind = "module"  // its archives are for all platforms
	KindProgram  Kind = "program" // Terraform or OpenTofu
)

// Kind returns what the address stands for.
func (a Address) Kind() Kind {
	if strings.Contains(a.Type, "/") {
		return KindModule
	}
	if _, ok := a.Program(); ok {
		return KindProgram
	}
	return KindProvider
}

// Platform is an operating system and an architecture in the names of Go.
type Platform struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
}

// String returns the platform in the form of Terraform, such as linux_amd64; "" for that of modules.
func (p Platform) String() string {
	if p == (Platform{}) {
		return ""
	}
	return p.OS + "_" + p.Arch
}

// Target is one archive. That of a module has no platform.
type Target struct {
	Address
	Version string `json:"version"`
	Platform
}

// String names the archive in messages.
func (t Target) String() string {
	out := t.Address.String() + " " + t.Version
	if t.Kind() == KindModule {
		return out
	}
	return out + " for " + t.Platform.String()
}

// Filename returns the name of the archive in a mirror.
func (t Target) Filename() string {
	if p, ok := t.Program(); ok {
		return p.filename(t.Version, t.Platform)
	}
	if t.Kind() == KindModule {
		return t.Version + ".zip"
	}
	return "terraform-provider-" + t.Type + "_" + t.Version + "_" + t.Platform.String() + ".zip"
}

var (
	hostname = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+(:[0-9]{1,5})?$`)
	part     = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$`)
	version  = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	platform = regexp.MustCompile(`^[a-z0-9]+$`)
	archive  = regexp.MustCompile(`^terraform-provider-(.+)_([^_]+)_([a-z0-9]+)_([a-z0-9]+)\.zip$`)
)

// maxName bounds each part of an address and a version, in bytes.
const maxName = 128

// CheckHostname returns a CodeInvalid error for text that is no hostname of a registry.
func CheckHostname(field, name string) error {
	if len(name) > maxName || !hostname.MatchString(name) {
		return codersdk.Invalid(field, "%.80q is not the hostname of a registry", name)
	}
	return nil
}

// ParseProvider reads the source of a provider: type, namespace/type or hostname/namespace/type. A missing
// hostname is fallback, a missing namespace hashicorp.
func ParseProvider(source, fallback string) (Address, error) {
	a := Address{Hostname: fallback, Namespace: "hashicorp"}
	switch parts := strings.Split(strings.ToLower(source), "/"); len(parts) {
	case 1:
		a.Type = parts[0]
	case 2:
		a.Namespace, a.Type = parts[0], parts[1]
	case 3:
		a.Hostname, a.Namespace, a.Type = parts[0], parts[1], parts[2]
	}
	return a, a.Check()
}

// Check returns a CodeInvalid error for parts that no address has.
func (a Address) Check() error {
	if err := CheckHostname("provider", a.Hostname); err != nil {
		return err
	}
	if a.Kind() == KindModule {
		return a.checkModule()
	}
	for _, s := range []string{a.Namespace, a.Type} {
		if len(s) > maxName || !part.MatchString(s) {
			return codersdk.Invalid("provider", "%.200q is not the address of a provider; use hostname/namespace/type", a.String())
		}
	}
	return nil
}

// Check returns a CodeInvalid error for a target that no registry has.
func (t Target) Check() error {
	if err := t.Address.Check(); err != nil {
		return err
	}
	if err := CheckVersion(t.Version); err != nil {
		return err
	}
	switch {
	case t.Kind() != KindModule:
		return t.Platform.Check()
	case t.Platform != (Platform{}):
		return codersdk.Invalid("os", "a module has no platform")
	}
	return nil
}

// CheckVersion returns a CodeInvalid error for text that is no version of a provider.
func CheckVersion(v string) error {
	if len(v) > maxName || !version.MatchString(v) {
		return codersdk.Invalid("version", "%.80q is not a version such as 3.2.1", v)
	}
	return nil
}

// Check returns a CodeInvalid error for text that is no platform.
func (p Platform) Check() error {
	if len(p.OS) > 32 || len(p.Arch) > 32 || !platform.MatchString(p.OS) || !platform.MatchString(p.Arch) {
		return codersdk.Invalid("platform", "%.80q is not a platform such as linux_amd64", p.String())
	}
	return nil
}

// ParsePlatform reads a platform such as linux_amd64.
func ParsePlatform(s string) (Platform, error) {
	system, arch, _ := strings.Cut(s, "_")
	p := Platform{OS: system, Arch: arch}
	if p.Check() != nil {
		return p, codersdk.Invalid("platform", "%.80q is not a platform such as linux_amd64", s)
	}
	return p, nil
}

// ParseFilename returns the target of an archive's name for a provider.
func ParseFilename(a Address, name string) (Target, error) {
	m := archive.FindStringSubmatch(name)
	if m == nil || m[1] != a.Type {
		return Target{}, codersdk.Invalid("file", "%.120q is not the name of an archive of this provider", name)
	}
	t := Target{Address: a, Version: m[2], Platform: Platform{OS: m[3], Arch: m[4]}}
	return t, t.Check()
}

// Status describes the mirror of a server.
type Status struct {
	// Hostnames are the registries whose providers come from the mirror, and the sites with releases of its programs.
	Hostnames []string `json:"hostnames"`
	// ModuleHostnames are those whose modules come from the mirror. Older servers name none.
	ModuleHostnames []string `json:"module_hostnames"`
	Packages        int64    `json:"packages"`
	Bytes           int64    `json:"bytes"`     // of all archives
	MaxBytes        int64    `json:"max_bytes"` // the least recently used archives are removed beyond it
}

// Package is a stored archive.
type Package struct {
	Target
	Size     int64     `json:"size"`      // bytes
	SHA256   string    `json:"sha256"`    // of the archive, in hexadecimal
	H1       string    `json:"h1"`        // of its files, in the form of lock files
	SignedBy string    `json:"signed_by"` // id of the key that signed the registry's checksums; "" without a signature
	StoredAt time.Time `json:"stored_at"`
	UsedAt   time.Time `json:"used_at"`
}

// Need is an archive that templates in use require.
type Need struct {
	Target // the version is "" if no version is known that fulfills the constraints
	// Constraints are those of all templates in Templates, as in required_providers.
	Constraints string   `json:"constraints"`
	Locked      bool     `json:"locked"`    // a lock file names the version
	Stored      bool     `json:"stored"`    // the mirror has the archive
	Templates   []string `json:"templates"` // as organization/template
	Problem     string   `json:"problem"`   // why the version is not known; "" if it is
}

// PullRequest asks the mirror to fetch one archive from its registry.
type PullRequest struct {
	Target
}

// Imported is the result of an import.
type Imported struct {
	Stored []Package `json:"stored"` // archives that the mirror did not have
	Known  int       `json:"known"`  // number of archives that it already had
}

// Versions is the index.json of the network mirror protocol.
type Versions struct {
	Versions map[string]struct{} `json:"versions"`
}

// Archives is the version.json of the network mirror protocol.
type Archives struct {
	Archives map[string]Archive `json:"archives"` // by platform
}

// Archive is one archive of a version.
type Archive struct {
	URL    string   `json:"url"` // relative to that of the document
	Hashes []string `json:"hashes,omitempty"`
}
