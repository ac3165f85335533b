// Package ociregistry describes stored providers and modules as artifacts of the OCI distribution protocol, in the form
// that OpenTofu reads.
//
// A repository is a provider or a module, and its tags are the versions. The tag of a provider names an image index
// with one image manifest per platform, the tag of a module an image manifest. Each image manifest has one layer, the
// stored archive. The documents depend on the stored archives only, so all replicas compute the same bytes.
package ociregistry

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
)

// Media types of documents and layers.
const (
	IndexType    = "application/vnd.oci.image.index.v1+json"
	ManifestType = "application/vnd.oci.image.manifest.v1+json"
	emptyType    = "application/vnd.oci.empty.v1+json"
	archiveType  = "archive/zip"
)

// Artifact types of OpenTofu.
const (
	providerArtifact = "application/vnd.opentofu.provider"        // of an index
	targetArtifact   = "application/vnd.opentofu.provider-target" // of a manifest for one platform
	moduleArtifact   = "application/vnd.opentofu.modulepkg"
)

// Empty is the configuration of every manifest.
const Empty = "{}"

// titleAnnotation is the annotation of a layer with its file name.
const titleAnnotation = "org.opencontainers.image.title"

// Descriptor describes a document or a blob.
type Descriptor struct {
	MediaType    string            `json:"mediaType"`
	Digest       string            `json:"digest"`
	Size         int64             `json:"size"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	Platform     *Platform         `json:"platform,omitempty"`
	ArtifactType string            `json:"artifactType,omitempty"`
}

// Platform is the platform of a manifest.
type Platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// Index is an image index.
type Index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	ArtifactType  string       `json:"artifactType"`
	Manifests     []Descriptor `json:"manifests"`
}

// Manifest is an image manifest.
type Manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	ArtifactType  string       `json:"artifactType"`
	Config        Descriptor   `json:"config"`
	Layers        []Descriptor `json:"layers"`
}

// TagList is the list of the tags of a repository.
type TagList struct {
	Name string   `json:"name"`
	Tags []string `json:"tags"`
}

// Document is an index or a manifest.
type Document struct {
	MediaType string
	Digest    string
	Body      []byte
}

// encode returns the document with the content v, a struct of this package, which always encodes.
func encode(mediaType string, v any) Document {
	body, _ := json.Marshal(v) //nolint:errcheck,errchkjson // see above
	return Document{MediaType: mediaType, Digest: DigestOf(body), Body: body}
}

// DigestOf returns the digest of data.
func DigestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return digestOf(hex.EncodeToString(sum[:]))
}

func digestOf(sha256 string) string { return "sha256:" + sha256 }

var digest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// IsDigest reports whether text is a digest with the only algorithm of the documents, SHA-256.
func IsDigest(text string) bool { return digest.MatchString(text) }

// part matches a part of the name of a repository.
var part = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*$`)

// ParseName returns the address that the name of a repository stands for. Names have no upper-case letters and no
// ports, so addresses with one have no repository.
func ParseName(name string) (providermirror.Address, error) {
	parts := strings.Split(name, "/")
	if slices.ContainsFunc(parts, func(s string) bool { return !part.MatchString(s) }) {
		return providermirror.Address{}, notRepository(name)
	}
	switch len(parts) {
	case 3:
		a, err := providermirror.ParseProvider(name, "")
		if err == nil && a.Kind() == providermirror.KindProvider {
			return a, nil
		}
	case 4:
		if a, err := providermirror.ParseModule(name); err == nil {
			return a, nil
		}
	}
	return providermirror.Address{}, notRepository(name)
}

func notRepository(name string) error {
	return codersdk.Errorf(codersdk.CodeNotFound,
		"%.200q is not a repository; use hostname/namespace/type of a provider, or hostname/namespace/name/system of a module", name)
}

// tagOf returns the tag of a version. Versions have no underscore, and tags no plus sign.
func tagOf(version string) string { return strings.ReplaceAll(version, "+", "_") }

// Repository has the stored archives of a provider or a module.
type Repository []providermirror.Package

// Tags returns the tags in lexical order.
func (r Repository) Tags() []string {
	out := make([]string, 0, len(r))
	for _, p := range r {
		out = append(out, tagOf(p.Version))
	}
	slices.SortFunc(out, compareTags)
	return slices.Compact(out)
}

// compareTags compares two tags in lexical order, without regard to case if they differ otherwise.
func compareTags(a, b string) int {
	return cmp.Or(cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(a, b))
}

// PageOf returns at most n of the tags after last, and whether more follow. last is "" for the first page, and n is
// negative for no limit.
func PageOf(tags []string, last string, n int) (page []string, more bool) {
	if last != "" {
		tags = tags[lenUntil(tags, last):]
	}
	if n < 0 || n >= len(tags) {
		return tags, false
	}
	return tags[:n], true
}

// lenUntil returns the number of tags up to last, which does not have to be one of them.
func lenUntil(tags []string, last string) int {
	i, found := slices.BinarySearchFunc(tags, last, compareTags)
	if found {
		i++
	}
	return i
}

// Document returns the index or the manifest that a tag or a digest names.
func (r Repository) Document(reference string) (Document, bool) {
	if !IsDigest(reference) {
		var packages []providermirror.Package
		for _, p := range r {
			if tagOf(p.Version) == reference {
				packages = append(packages, p)
			}
		}
		return documentOf(packages)
	}
	versions := map[string][]providermirror.Package{}
	for _, p := range r {
		if d := manifestOf(p); d.Digest == reference {
			return d, true
		}
		versions[p.Version] = append(versions[p.Version], p)
	}
	for _, packages := range versions {
		if d, _ := documentOf(packages); d.Digest == reference {
			return d, true
		}
	}
	return Document{}, false
}

// documentOf returns the document that the tag of a version names. The packages are those of the version.
func documentOf(packages []providermirror.Package) (Document, bool) {
	if len(packages) == 0 {
		return Document{}, false
	}
	if packages[0].Kind() == providermirror.KindModule {
		return manifestOf(packages[0]), true
	}
	packages = slices.SortedFunc(slices.Values(packages), func(a, b providermirror.Package) int {
		return cmp.Compare(a.Platform.String(), b.Platform.String())
	})
	index := Index{SchemaVersion: 2, MediaType: IndexType, ArtifactType: providerArtifact}
	for _, p := range packages {
		d := manifestOf(p)
		index.Manifests = append(index.Manifests, Descriptor{
			MediaType: d.MediaType, Digest: d.Digest, Size: int64(len(d.Body)),
			Platform: &Platform{Architecture: p.Arch, OS: p.OS}, ArtifactType: targetArtifact,
		})
	}
	return encode(IndexType, index), true
}

// manifestOf returns the manifest of an archive.
func manifestOf(p providermirror.Package) Document {
	artifact := targetArtifact
	if p.Kind() == providermirror.KindModule {
		artifact = moduleArtifact
	}
	return encode(ManifestType, Manifest{
		SchemaVersion: 2, MediaType: ManifestType, ArtifactType: artifact,
		Config: Descriptor{MediaType: emptyType, Digest: DigestOf([]byte(Empty)), Size: int64(len(Empty))},
		Layers: []Descriptor{{
			MediaType: archiveType, Digest: digestOf(p.SHA256), Size: p.Size, Annotations: map[string]string{titleAnnotation: p.Filename()},
		}},
	})
}

// Archive returns the archive with a digest.
func (r Repository) Archive(digest string) (providermirror.Package, bool) {
	i := slices.IndexFunc(r, func(p providermirror.Package) bool { return digestOf(p.SHA256) == digest })
	if i < 0 {
		return providermirror.Package{}, false
	}
	return r[i], true
}
