package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// TestUsersByGitHubID: the number of a GitHub user finds the one user that is
// linked to it.
func TestUsersByGitHubID(t *testing.T) {
	h := newHouse(t, nil)
	for name, id := range map[string]string{"ann": "583231", "bob": "58323"} {
		_, u := h.Member(t, name)
		h.sql(`INSERT INTO user_links (user_id, login_type, issuer, subject, created_at, updated_at)
			VALUES ('` + u.ID.String() + `', 'github', 'https://github.com', '` + id + `', now(), now())`)
	}
	out, _ := h.ok("users", "list", "--github-user-id", "583231", "-o", "json")
	var users []codersdk.User
	if err := json.Unmarshal([]byte(out), &users); err != nil || len(users) != 1 || users[0].Username != "ann" {
		t.Errorf("%v: %s", err, out)
	}
	out, _ = h.ok("users", "list", "--github-user-id", "58323")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 2 || !strings.HasPrefix(lines[1], "bob ") {
		t.Errorf("bob's id shows\n%s", out)
	}
	out, _ = h.ok("users", "list", "--github-user-id", "5832")
	if strings.Contains(out, "ann") || strings.Contains(out, "bob") {
		t.Errorf("the id of nobody shows\n%s", out)
	}
}
