package replicatoken_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/replicatoken"
)

func TestAdmit(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	key, here, subject := []byte(strings.Repeat("k", 32)), uuid.New(), []byte("logs?a=1")
	from, to := replicatoken.New(key, clock), replicatoken.New(key, clock)
	used := from.Token(here, subject)
	if err := to.Admit(used, here, subject); err != nil {
		t.Fatalf("a token of another replica: %v", err)
	}
	early := from.Token(here, subject)
	flipped := []byte(from.Token(here, subject))
	flipped[3] ^= 1
	stranger := replicatoken.New([]byte(strings.Repeat("x", 32)), clock)
	for name, token := range map[string]string{
		"none": "", "no base64": "!!", "short": "AAAA", "used": used, "changed": string(flipped),
		"of another deployment": stranger.Token(here, subject),
		"for another replica":   from.Token(uuid.New(), subject),
		"for another request":   from.Token(here, []byte("logs?a=2")),
	} {
		if err := to.Admit(token, here, subject); !codersdk.Is(err, codersdk.CodeUnauthenticated) {
			t.Errorf("token %s: %v", name, err)
		}
	}
	for range 4 { // used tokens stay known until they are too old
		now = now.Add(20 * time.Second)
		if err := to.Admit(used, here, subject); !codersdk.Is(err, codersdk.CodeUnauthenticated) {
			t.Errorf("a used token after %s: %v", now, err)
		}
	}
	if err := to.Admit(early, here, subject); err == nil || !strings.Contains(err.Error(), "clocks") {
		t.Errorf("an old token: %v", err)
	}
	future := from.Token(here, subject)
	now = now.Add(-2 * time.Minute)
	if err := to.Admit(future, here, subject); err == nil || !strings.Contains(err.Error(), "clocks") {
		t.Errorf("a token of a clock that is ahead: %v", err)
	}
}
