package providermirror

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Hostnames of the sites with the releases of Terraform and OpenTofu.
const (
	TerraformReleases = "releases.hashicorp.com"
	TofuReleases      = "github.com"
)

// Program is Terraform or OpenTofu. Its archives are stored as those of a provider of the site with its releases.
type Program struct {
	Address
	path      string // of the site, before the version
	prefix    string // of the names of its files
	ending    string // of its archives
	signature string // ending of the name of its checksums' signature
}

// Terraform returns the program Terraform.
func Terraform() Program {
	return Program{Address{TerraformReleases, "hashicorp", "terraform"}, "/terraform/", "terraform_", ".zip", ".sig"}
}

// OpenTofu returns the program OpenTofu, whose archives are those that its downloader tofudl reads.
func OpenTofu() Program {
	return Program{Address{TofuReleases, "opentofu", "opentofu"}, "/opentofu/opentofu/releases/download/v", "tofu_", ".tar.gz", ".gpgsig"}
}

// Name returns the name of the program's executable: terraform or tofu.
func (p Program) Name() string { return strings.TrimSuffix(p.prefix, "_") }

// ParseProgram returns the program called terraform or opentofu.
func ParseProgram(name string) (Program, error) {
	for _, p := range Programs() {
		if p.Type == name {
			return p, nil
		}
	}
	return Program{}, codersdk.Errorf(codersdk.CodeNotFound, "The mirror has no program %.80q; use terraform or opentofu", name)
}

// Programs returns all programs.
func Programs() []Program { return []Program{Terraform(), OpenTofu()} }

// Program returns the program with this address; false if it is that of no program.
func (a Address) Program() (Program, bool) {
	for _, p := range Programs() {
		if p.Address == a {
			return p, true
		}
	}
	return Program{}, false
}

// ChecksumsName returns the name of the file with the checksums of a version.
func (p Program) ChecksumsName(version string) string { return p.prefix + version + "_SHA256SUMS" }

// SignatureName returns the name of the file with the signature of the checksums of a version.
func (p Program) SignatureName(version string) string {
	return p.ChecksumsName(version) + p.signature
}

// URL returns the address of the files of a version on the site with the releases. It ends with a slash.
func (p Program) URL(version string) *url.URL {
	return &url.URL{Scheme: "https", Host: p.Hostname, Path: p.path + version + "/"}
}

// filename returns the name of an archive.
func (p Program) filename(version string, on Platform) string {
	return p.prefix + version + "_" + on.String() + p.ending
}

// ParseName returns the target of the name of an archive of a version.
func (p Program) ParseName(version, name string) (Target, error) {
	rest, isArchive := strings.CutSuffix(name, p.ending)
	rest, isVersion := strings.CutPrefix(rest, p.prefix+version+"_")
	on, err := ParsePlatform(rest)
	if !isArchive || !isVersion || err != nil {
		return Target{}, codersdk.Invalid("file", "%.120q is not the name of an archive of this version", name)
	}
	t := Target{Address: p.Address, Version: version, Platform: on}
	return t, t.Check()
}

// ReleaseIndex is the index.json of a version on the site with the releases of Terraform.
type ReleaseIndex struct {
	Name       string         `json:"name"`
	Version    string         `json:"version"`
	Checksums  string         `json:"shasums"`
	Signature  string         `json:"shasums_signature"`
	Signatures []string       `json:"shasums_signatures"`
	Builds     []ReleaseBuild `json:"builds"`
}

// ReleaseBuild is an archive in an index.
type ReleaseBuild struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Filename string `json:"filename"`
	URL      string `json:"url"`
}

// Release is what the site with the releases has for a version of a program, besides its archives.
type Release struct {
	Checksums []byte // the SHA256SUMS file
	Signature []byte // of the checksums. Who runs the program has the key of its authors and checks it.
}

// Index lists the archives that the checksums of a version of Terraform name.
func (r Release) Index(version string) ReleaseIndex {
	p := Terraform()
	signature := p.SignatureName(version)
	out := ReleaseIndex{
		Name: "terraform", Version: version, Checksums: p.ChecksumsName(version), Signature: signature, Signatures: []string{signature},
		Builds: []ReleaseBuild{},
	}
	for name := range ParseChecksums(r.Checksums) {
		if t, err := p.ParseName(version, name); err == nil {
			out.Builds = append(out.Builds, ReleaseBuild{
				Name: "terraform", Version: version, OS: t.OS, Arch: t.Arch, Filename: name,
				URL: p.URL(version).JoinPath(name).String(),
			})
		}
	}
	slices.SortFunc(out.Builds, func(a, b ReleaseBuild) int { return strings.Compare(a.Filename, b.Filename) })
	return out
}

// ParseChecksums returns the SHA-256 checksums of a SHA256SUMS file by file name.
func ParseChecksums(text []byte) map[string][]byte {
	sums := map[string][]byte{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			continue
		}
		if sum, err := hex.DecodeString(fields[0]); err == nil && len(sum) == sha256.Size {
			sums[strings.TrimPrefix(fields[1], "*")] = sum
		}
	}
	return sums
}
