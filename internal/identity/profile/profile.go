// Package profile derives valid user data from the data of an identity provider.
package profile

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

var notInNames = regexp.MustCompile(`[^a-zA-Z0-9]+`)

// Username derives a valid username from a name at a provider.
func Username(s string) string {
	s, _, _ = strings.Cut(s, "@")
	s = strings.Trim(notInNames.ReplaceAllString(s, "-"), "-")
	if len(s) > 32 {
		s = strings.Trim(s[:32], "-")
	}
	if codersdk.CheckName("username", s) != nil {
		return "user"
	}
	return s
}

// Avatar returns the URL of a provider's picture, or "" if pages cannot show it
// safely.
func Avatar(u string) string {
	if codersdk.CheckIcon("avatar_url", u) != nil {
		return ""
	}
	return u
}

// FullName shortens a full name to the maximum length.
func FullName(s string) string {
	s = strings.TrimSpace(codersdk.CleanDisplayName(strings.ToValidUTF8(s, "")))
	for len(s) > 64 {
		r := []rune(s)
		s = strings.TrimSpace(string(r[:len(r)-1]))
	}
	return s
}

// FreeUsername returns the name, or a similar one that is not taken.
func FreeUsername(ctx context.Context, q *sqlc.Queries, name string) (string, error) {
	try := name
	for i := range 20 {
		_, err := q.UserByUsername(ctx, try)
		if codersdk.Is(err, codersdk.CodeNotFound) {
			return try, nil
		}
		if err != nil {
			return "", err
		}
		suffix := fmt.Sprintf("-%d", i+2)
		if i > 8 {
			suffix = "-" + strings.ToLower(credential.RandomText(6))
		}
		try = strings.Trim(name[:min(len(name), 32-len(suffix))], "-") + suffix
	}
	return "", codersdk.Errorf(codersdk.CodeConflict, "No available username similar to %q was found", name)
}
