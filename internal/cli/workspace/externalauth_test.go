package workspace

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
)

// TestLinksOfOthers: a user who starts the workspace of another user is not asked for links, and the user's own
// providers are not contacted, because they may be down.
func TestLinksOfOthers(t *testing.T) {
	for owner, asks := range map[string]bool{"ann": false, "Bob": true, "me": true} {
		asked := false
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch {
			case strings.HasPrefix(r.URL.Path, "/api/v2/templateversions/"):
				fmt.Fprint(w, `[{"id": "git", "display_name": "Git host"}]`)
			case r.URL.Path == "/api/v2/users/me":
				fmt.Fprint(w, `{"username": "bob"}`)
			default:
				asked = true
				fmt.Fprint(w, `{"authenticated": true}`)
			}
		}))
		defer s.Close()
		u, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		if err := linkProviders(t.Context(), &command.Run{Stderr: io.Discard}, codersdk.New(u), uuid.New(), owner); err != nil || asked != asks {
			t.Errorf("the workspace of %s: asked for the link %t, %v", owner, asked, err)
		}
	}
}
