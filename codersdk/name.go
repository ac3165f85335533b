package codersdk

import (
	"crypto/rand"
	"net/mail"
	"regexp"
	"strings"
	"unicode"
)

var (
	userName    = regexp.MustCompile(`^[a-zA-Z0-9]+(?:-[a-zA-Z0-9]+)*$`)
	versionName = regexp.MustCompile(`^[a-zA-Z0-9]+(?:[_.-]{1}[a-zA-Z0-9]+)*$`)
)

// CheckName checks the name of a user, organization, template or workspace: 1 to
// 32 letters, digits and single inner hyphens, and not reserved. (WS-02, AU-09)
func CheckName(field, name string) error {
	switch {
	case name == "":
		return Invalid(field, "a name is required")
	case len(name) > 32:
		return Invalid(field, "%q is longer than 32 characters; choose a shorter name", name)
	case !userName.MatchString(name):
		return Invalid(field, "%q can contain only letters, digits and single hyphens between them", name)
	case strings.EqualFold(name, "new"), strings.EqualFold(name, "create"):
		return Invalid(field, "%q is reserved; choose another name", name)
	}
	return nil
}

// CheckVersionName checks the name of a template version: 1 to 64 letters and
// digits with single inner hyphens, dots or underscores. (TPL-02)
func CheckVersionName(field, name string) error {
	if len(name) > 64 || !versionName.MatchString(name) {
		return Invalid(field, "%.70q must be 1 to 64 letters and digits with single -, _ or . between them", name)
	}
	return nil
}

// CheckDisplayName checks a display name: at most 64 bytes, no leading or
// trailing spaces, and no invisible characters that change how text is shown,
// which are control characters and those that change the direction of text.
func CheckDisplayName(field, name string) error {
	if len(name) > 64 || strings.TrimSpace(name) != name {
		return Invalid(field, "a display name can have at most 64 characters and no leading or trailing spaces")
	}
	if strings.ContainsFunc(name, deceives) {
		return Invalid(field, "a display name cannot contain control characters or characters that change the direction of text")
	}
	return nil
}

// CleanDisplayName returns name without the characters that CheckDisplayName
// rejects. It is for names from other systems.
func CleanDisplayName(name string) string {
	return strings.Map(func(r rune) rune {
		if deceives(r) {
			return -1
		}
		return r
	}, name)
}

// deceives reports whether a character is a control character or changes the
// direction of the text after it (Unicode Bidirectional Algorithm, explicit
// formatting characters).
func deceives(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// CheckEmail checks that email is a bare email address.
func CheckEmail(field, email string) error {
	a, err := mail.ParseAddress(email)
	if err != nil || a.Address != email || len(email) > 254 {
		return Invalid(field, "%.80q is not an email address", email)
	}
	return nil
}

// RandomName returns a readable name of two words and two digits for objects
// that the user did not name.
func RandomName() string {
	adjectives := strings.Fields(
		"amber brave calm clever cosmic crisp eager fair fleet gentle golden happy keen kind lively lucid merry mighty noble polite proud quick quiet rapid sharp shiny silver smooth steady sunny swift tidy vivid warm wise witty",
	)
	nouns := strings.Fields(
		"badger beaver bison cedar comet condor crane delta dune ember falcon fjord gecko harbor heron ibex jaguar lagoon lark lynx maple marten meadow mesa moose orca otter panda pine puma quartz raven reef river robin sable spruce stork tiger walrus willow wren",
	)
	var b [4]byte
	rand.Read(b[:]) //nolint:errcheck // documented never to fail
	return adjectives[int(b[0])%len(adjectives)] + "-" + nouns[int(b[1])%len(nouns)] + "-" + string('0'+rune(b[2]%10)) + string('0'+rune(b[3]%10))
}
