package ociregistry_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/rule/ociregistry"
	"github.com/seed-2a7f8fe7/coder/internal/rule/providermirror"
)

// stored returns an archive whose SHA-256 repeats a digit.
func stored(a providermirror.Address, version, platform, digit string) providermirror.Package {
	p := providermirror.Package{Target: providermirror.Target{Address: a, Version: version}, Size: 1000, SHA256: strings.Repeat(digit, 64)}
	p.OS, p.Arch, _ = strings.Cut(platform, "_")
	return p
}

func random() ociregistry.Repository {
	a := providermirror.Address{Hostname: "registry.opentofu.org", Namespace: "hashicorp", Type: "random"}
	return ociregistry.Repository{
		stored(a, "3.7.2", "linux_arm64", "b"), stored(a, "3.7.2", "linux_amd64", "a"), stored(a, "3.10.0+build.1", "linux_amd64", "c"),
	}
}

// document returns a document as text, after its digest and its own media type were checked.
func document(t *testing.T, r ociregistry.Repository, reference string) string {
	t.Helper()
	d, ok := r.Document(reference)
	if !ok {
		t.Fatalf("there is no document %s", reference)
	}
	if d.Digest != ociregistry.DigestOf(d.Body) {
		t.Errorf("%s has the digest %s", reference, d.Digest)
	}
	if again, ok := r.Document(d.Digest); !ok || string(again.Body) != string(d.Body) || again.MediaType != d.MediaType {
		t.Errorf("the digest of %s names %+v", reference, again)
	}
	var own struct{ MediaType string }
	if err := json.Unmarshal(d.Body, &own); err != nil || own.MediaType != d.MediaType {
		t.Errorf("%s is a %s, and states %s, %v", reference, d.MediaType, own.MediaType, err)
	}
	return string(d.Body)
}

const manifest = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"ARTIFACT",` +
	`"config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2},` +
	`"layers":[{"mediaType":"archive/zip","digest":"sha256:DIGIT","size":1000,"annotations":{"org.opencontainers.image.title":"FILE"}}]}`

func manifestOf(artifact, digit, file string) string {
	return strings.NewReplacer("ARTIFACT", artifact, "DIGIT", strings.Repeat(digit, 64), "FILE", file).Replace(manifest)
}

func TestDocumentsOfProviders(t *testing.T) {
	r := random()
	const artifact = "application/vnd.opentofu.provider-target"
	amd := manifestOf(artifact, "a", "terraform-provider-random_3.7.2_linux_amd64.zip")
	arm := manifestOf(artifact, "b", "terraform-provider-random_3.7.2_linux_arm64.zip")
	descriptor := func(body, arch string) string {
		return `{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"` + ociregistry.DigestOf([]byte(body)) + `","size":` + length(body) +
			`,"platform":{"architecture":"` + arch + `","os":"linux"},"artifactType":"` + artifact + `"}`
	}
	want := `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","artifactType":"application/vnd.opentofu.provider","manifests":[` +
		descriptor(amd, "amd64") + "," + descriptor(arm, "arm64") + `]}`
	if got := document(t, r, "3.7.2"); got != want {
		t.Errorf("the index is\n%s\nand not\n%s", got, want)
	}
	for _, body := range []string{amd, arm} {
		if got := document(t, r, ociregistry.DigestOf([]byte(body))); got != body {
			t.Errorf("the manifest is\n%s\nand not\n%s", got, body)
		}
	}
	document(t, r, "3.10.0_build.1")
	slices.Reverse(r)
	if got := document(t, r, "3.7.2"); got != want {
		t.Error("the order of the archives changes the index")
	}
	for _, reference := range []string{"3.7.1", "latest", "3.10.0+build.1", ociregistry.DigestOf(nil)} {
		if d, ok := r.Document(reference); ok {
			t.Errorf("%s names %s", reference, d.Body)
		}
	}
}

func length(s string) string {
	b, _ := json.Marshal(len(s)) //nolint:errcheck // a number
	return string(b)
}

func TestDocumentsOfModules(t *testing.T) {
	r := ociregistry.Repository{stored(providermirror.Module("coder.example.com", "platform", "home", "docker"), "1.0.0", "", "d")}
	if got, want := document(t, r, "1.0.0"), manifestOf("application/vnd.opentofu.modulepkg", "d", "1.0.0.zip"); got != want {
		t.Errorf("the manifest is\n%s\nand not\n%s", got, want)
	}
}

func TestTags(t *testing.T) {
	tags := random().Tags()
	if !slices.Equal(tags, []string{"3.10.0_build.1", "3.7.2"}) {
		t.Errorf("got %q", tags)
	}
	a := random()[0].Address
	mixed := ociregistry.Repository{stored(a, "1.0.0-b", "linux_amd64", "1"), stored(a, "1.0.0-RC", "linux_amd64", "2"), stored(a, "1.0.0-a", "linux_amd64", "3")}
	if got := mixed.Tags(); !slices.Equal(got, []string{"1.0.0-a", "1.0.0-b", "1.0.0-RC"}) {
		t.Errorf("got %q", got)
	}
}

func TestPages(t *testing.T) {
	tags := []string{"1.0.0", "1.1.0", "1.2.0"}
	for _, c := range []struct {
		last string
		n    int
		want int // number of the first tag and of the tag after the last
		end  int
		more bool
	}{
		{"", -1, 0, 3, false},
		{"", 0, 0, 0, true},
		{"", 2, 0, 2, true},
		{"", 3, 0, 3, false},
		{"1.1.0", 2, 2, 3, false},
		{"1.0.5", 1, 1, 2, true},
		{"0.1.0", -1, 0, 3, false},
		{"1.2.0", 5, 3, 3, false},
		{"9", -1, 3, 3, false},
	} {
		got, more := ociregistry.PageOf(tags, c.last, c.n)
		if !slices.Equal(got, tags[c.want:c.end]) || more != c.more {
			t.Errorf("%d after %q: %q, %v", c.n, c.last, got, more)
		}
	}
}

func TestParseName(t *testing.T) {
	for name, want := range map[string]providermirror.Kind{
		"registry.opentofu.org/hashicorp/random":       providermirror.KindProvider,
		"registry.terraform.io/my-org/my_type":         providermirror.KindProvider,
		"registry.coder.com/coder/git-clone/coder":     providermirror.KindModule,
		"registry.opentofu.org/hashicorp":              "",
		"registry.opentofu.org/hashicorp/random/a/b":   "",
		"library/alpine":                               "",
		"localhost/acme/one":                           "", // no hostname of a registry
		"registry.example.com:8443/acme/one":           "",
		"registry.example.com/Acme/one":                "",
		"registry.example.com/Acme/one/any":            "",
		"registry.example.com/acme/-one":               "",
		"registry.example.com//one":                    "",
		"registry.example.com/acme/../one":             "",
		"releases.hashicorp.com/hashicorp/terraform":   "",
		strings.Repeat("a", 200) + ".example.com/a/b":  "",
		"registry.example.com/acme/one\x00":            "",
		"registry.example.com/acme/one/tags/list":      "",
		"registry.example.com/acme/one two/any":        "",
		"registry.example.com/acme/" + "one%2Fany":     "",
		"registry.example.com/acme/one__two/any":       providermirror.KindModule,
		"registry.example.com/acme/one___two/any":      "",
		"registry.example.com/acme/one/any\nregistry.": "",
	} {
		a, err := ociregistry.ParseName(name)
		if (err == nil) != (want != "") || err == nil && (a.Kind() != want || a.String() != name) {
			t.Errorf("%q: %v, %v", name, a, err)
		}
	}
}
