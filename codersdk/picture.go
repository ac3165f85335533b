package codersdk

import (
	"net/url"
	"strings"
	"unicode"

	"github.com/seed-2a7f8fe7/coder/internal/rule/picture"
)

// CheckIcon checks the address of an icon, at most 2,048 bytes. It must be empty,
// an https: URL, a path of this server such as /icon/go.svg, or a data: URL of a
// picture without scripts.
func CheckIcon(field, icon string) error {
	if icon == "" || picture.IsIcon(icon) {
		return nil
	}
	return Invalid(field, "must be a path of this server such as /icon/go.svg, an https: URL, or a data: URL of a picture without scripts, of at most 2048 bytes")
}

// CheckLink checks the target of a link: an https:, http: or mailto: URL, or a
// path of this server. Other schemes can do more than open a page or a mail.
func CheckLink(field, target string) error {
	u, err := url.Parse(target)
	switch {
	case err != nil || strings.ContainsFunc(target, unicode.IsControl):
	case (u.Scheme == "https" || u.Scheme == "http") && u.Host != "", u.Scheme == "mailto" && u.Opaque != "":
		return nil
	case u.Scheme == "" && u.Host == "" && strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "//"):
		return nil
	}
	return Invalid(field, "must be an https:, http: or mailto: URL, or a path of this server, got %.80q", target)
}
