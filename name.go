package coder

import (
	"crypto/rand"
	"net/mail"
	"regexp"
	"strings"
)

var (
	userName    = regexp.MustCompile(`^[a-zA-Z0-9]+(?:-[a-zA-Z0-9]+)*$`)
	versionName = regexp.MustCompile(`^[a-zA-Z0-9]+(?:[_.-]{1}[a-zA-Z0-9]+)*$`)
)

// CheckName refuses names of users, organizations, templates and workspaces
// other than 1 to 32 letters, digits and single inner hyphens. (WS-02, AU-09)
func CheckName(field, name string) error {
	switch {
	case name == "":
		return Invalid(field, "a name is required")
	case len(name) > 32:
		return Invalid(field, "%q is longer than 32 characters", name)
	case !userName.MatchString(name):
		return Invalid(field, "%q may hold only letters, digits and single hyphens between them", name)
	case strings.EqualFold(name, "new"), strings.EqualFold(name, "create"):
		return Invalid(field, "%q is reserved", name)
	}
	return nil
}

// CheckVersionName refuses names of template versions other than 1 to 64
// letters and digits with single inner hyphens, dots or underscores. (TPL-02)
func CheckVersionName(field, name string) error {
	if len(name) > 64 || !versionName.MatchString(name) {
		return Invalid(field, "%.70q must be 1 to 64 letters and digits with single -, _ or . between them", name)
	}
	return nil
}

// CheckDisplayName refuses display names over 64 bytes or with blank ends.
func CheckDisplayName(field, name string) error {
	if len(name) > 64 || strings.TrimSpace(name) != name {
		return Invalid(field, "a display name is at most 64 characters and has no blanks at its ends")
	}
	return nil
}

// CheckIcon refuses addresses of pictures over 2,048 bytes or with control
// characters. Any other text may stand for one: a path, a URL, an emoji's name.
func CheckIcon(field, icon string) error {
	if len(icon) > 2048 || strings.ContainsFunc(icon, func(c rune) bool { return c < ' ' }) {
		return Invalid(field, "must be the path or URL of a picture of at most 2048 bytes")
	}
	return nil
}

// CheckEmail refuses what is not a bare e-mail address.
func CheckEmail(field, email string) error {
	a, err := mail.ParseAddress(email)
	if err != nil || a.Address != email || len(email) > 254 {
		return Invalid(field, "%.80q is not an e-mail address", email)
	}
	return nil
}

// RandomName makes a readable name of two words and two digits for things
// that nobody named.
func RandomName() string {
	adjectives := strings.Fields("amber brave calm clever cosmic crisp eager fair fleet gentle golden happy keen kind lively lucid merry mighty noble polite proud quick quiet rapid sharp shiny silver smooth steady sunny swift tidy vivid warm wise witty")
	nouns := strings.Fields("badger beaver bison cedar comet condor crane delta dune ember falcon fjord gecko harbor heron ibex jaguar lagoon lark lynx maple marten meadow mesa moose orca otter panda pine puma quartz raven reef river robin sable spruce stork tiger walrus willow wren")
	var b [4]byte
	rand.Read(b[:]) //nolint:errcheck // documented never to fail
	return adjectives[int(b[0])%len(adjectives)] + "-" + nouns[int(b[1])%len(nouns)] + "-" + string('0'+rune(b[2]%10)) + string('0'+rune(b[3]%10))
}
