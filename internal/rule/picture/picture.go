// Package picture checks the addresses of icons, and the pictures of data: URLs.
package picture

import (
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// IsIcon reports whether a page can show the address as an icon: an https: URL, a path
// of this server, or a data: URL that is safe, of at most 2,048 bytes.
func IsIcon(address string) bool {
	if len(address) > 2048 || strings.ContainsFunc(address, unicode.IsControl) {
		return false
	}
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "https":
		return u.Host != ""
	case "data":
		return IsSafe(address[len("data:"):])
	case "":
		return u.Host == "" && strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "//") && !strings.Contains(address, `\`)
	}
	return false
}

// IsSafe reports whether a data: URL is a picture without scripts. The URL is passed
// without its scheme, such as "image/png;base64,iVBORw0KGgo=".
func IsSafe(rest string) bool {
	head, content, ok := strings.Cut(rest, ",")
	if !ok {
		return false
	}
	parameters := strings.Split(strings.ToLower(head), ";")
	switch strings.TrimSpace(parameters[0]) {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "image/x-icon", "image/vnd.microsoft.icon":
		return true
	case "image/svg+xml":
	default:
		return false
	}
	text, err := url.PathUnescape(content)
	if err != nil {
		return false
	}
	if slices.Contains(parameters, "base64") {
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return false
		}
		text = string(b)
	}
	return isPlainSVG(text)
}

// isPlainSVG reports whether an SVG picture is well-formed and has no scripts,
// event handlers, embedded HTML or external references.
func isPlainSVG(text string) bool {
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return true
		}
		if err != nil {
			return false
		}
		switch t := token.(type) {
		case xml.Directive: // can declare entities
			return false
		case xml.StartElement:
			if slices.Contains([]string{"script", "foreignobject", "iframe", "object", "embed", "handler", "set", "animate"}, strings.ToLower(t.Name.Local)) {
				return false
			}
			for _, a := range t.Attr {
				name := strings.ToLower(a.Name.Local)
				if strings.HasPrefix(name, "on") || name == "href" && !strings.HasPrefix(strings.TrimSpace(a.Value), "#") {
					return false
				}
			}
		}
	}
}
