package codersdk

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Reserved tags, which only the server sets.
const (
	TagScope          = "scope"
	TagOwner          = "owner"
	ScopeOrganization = "organization"
	ScopeUser         = "user"
)

// Limits of a tag set.
const (
	MaxTags     = 64
	MaxTagBytes = 256
)

// Tags is a tag set: of a job, what its provisioner must have; of a
// provisioner, what it has.
type Tags map[string]string

// NormalizeTags returns tags with the implicit scope and owner. With
// scope=user the owner is the given user whatever tags say; otherwise the
// scope is organization and the owner empty.
func NormalizeTags(user uuid.UUID, tags Tags) Tags {
	t := Tags{}
	maps.Copy(t, tags)
	if t[TagScope] == ScopeUser {
		t[TagOwner] = user.String()
		return t
	}
	t[TagScope], t[TagOwner] = ScopeOrganization, ""
	return t
}

// Untagged reports whether the set is organization scope and nothing else.
func (t Tags) Untagged() bool {
	return len(t) == 2 && t[TagScope] == ScopeOrganization && t[TagOwner] == ""
}

// Match reports whether a provisioner with tags t may run a job that asks for
// job, both normalized and of one organization. A job without tags of its own
// goes only to a provisioner without any; else all of the job's tags must be
// among the provisioner's. (PRV-11)
func (t Tags) Match(job Tags) bool {
	if job.Untagged() {
		return t.Untagged()
	}
	return t.Has(job)
}

// Has reports whether all of some tags are among t.
func (t Tags) Has(some Tags) bool {
	for k, v := range some {
		if got, ok := t[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// tagEscaper escapes what Key separates names and values with.
var tagEscaper = strings.NewReplacer(`\`, `\\`, "=", `\=`, ",", `\,`)

// Key is the canonical text of the set, equal for equal sets and for no others.
func (t Tags) Key() string {
	var b strings.Builder
	for i, k := range slices.Sorted(maps.Keys(t)) {
		if i > 0 {
			b.WriteByte(',')
		}
		_, _ = tagEscaper.WriteString(&b, k) // a Builder takes all
		b.WriteByte('=')
		_, _ = tagEscaper.WriteString(&b, t[k])
	}
	return b.String()
}

// CheckTags refuses tag sets that are too many, too long, or empty-named.
func CheckTags(field string, t Tags) error {
	if len(t) > MaxTags {
		return Invalid(field, "at most %d tags are allowed, got %d", MaxTags, len(t))
	}
	for _, k := range slices.Sorted(maps.Keys(t)) {
		switch {
		case k == "":
			return Invalid(field, "a tag needs a name before its =")
		case len(k) > MaxTagBytes || len(t[k]) > MaxTagBytes:
			return Invalid(field, "tag %.40q is longer than %d bytes", k, MaxTagBytes)
		case strings.ContainsRune(k+t[k], 0) || !utf8.ValidString(k+t[k]):
			return Invalid(field, "tag %.40q is not text", k)
		}
	}
	return nil
}
