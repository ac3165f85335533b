package providermirror

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Releases is the hostname of the site with the releases of Terraform itself.
const Releases = "releases.hashicorp.com"

// Terraform returns what Terraform itself is in the mirror: its archives are stored as those of a provider of
// the site with the releases.
func Terraform() Address {
	return Address{Hostname: Releases, Namespace: "hashicorp", Type: "terraform"}
}

// ChecksumsName returns the name of the file with the checksums of a version of Terraform. The name of its
// signature also has SignatureSuffix.
func ChecksumsName(version string) string { return "terraform_" + version + "_SHA256SUMS" }

// SignatureSuffix ends the name of a signature.
const SignatureSuffix = ".sig"

// ParseReleaseName returns the target of the name of an archive of Terraform.
func ParseReleaseName(version, name string) (Target, error) {
	rest, isZip := strings.CutSuffix(name, ".zip")
	rest, isVersion := strings.CutPrefix(rest, "terraform_"+version+"_")
	p, err := ParsePlatform(rest)
	if !isZip || !isVersion || err != nil {
		return Target{}, codersdk.Invalid("file", "%.120q is not the name of an archive of this version", name)
	}
	t := Target{Address: Terraform(), Version: version, Platform: p}
	return t, t.Check()
}

// ReleaseIndex is the index.json of a version on the site with the releases.
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

// Release is what the site with the releases has for a version of Terraform, besides its archives.
type Release struct {
	Checksums []byte // the SHA256SUMS file
	Signature []byte // of the checksums. Who runs Terraform has HashiCorp's key and checks it.
}

// Index lists the archives that the checksums of a version name.
func (r Release) Index(version string) ReleaseIndex {
	signature := ChecksumsName(version) + SignatureSuffix
	out := ReleaseIndex{
		Name: "terraform", Version: version, Checksums: ChecksumsName(version), Signature: signature, Signatures: []string{signature},
		Builds: []ReleaseBuild{},
	}
	for name := range ParseChecksums(r.Checksums) {
		if t, err := ParseReleaseName(version, name); err == nil {
			out.Builds = append(out.Builds, ReleaseBuild{
				Name: "terraform", Version: version, OS: t.OS, Arch: t.Arch, Filename: name,
				URL: "https://" + Releases + "/terraform/" + version + "/" + name,
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
