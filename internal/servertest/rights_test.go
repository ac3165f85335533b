package servertest_test

import (
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// TestOrganizationDeletedUnderAUser: open connections of members end, and their
// later requests get a clear error. So do requests of a suspended user.
func TestOrganizationDeletedUnderAUser(t *testing.T) {
	s := servertest.Start(t, nil)
	ctx, root := t.Context(), s.Client
	org, err := root.CreateOrganization(ctx, codersdk.CreateOrganizationRequest{Name: "gone"})
	must(t, err)
	ann, _ := s.Member(t, "ann")
	_, err = root.AddOrganizationMember(ctx, "gone", "ann")
	must(t, err)
	conn := socket(t, s, ann, "/changes")
	must(t, root.DeleteOrganization(ctx, "gone"))
	ends(t, "organization deleted", conn)

	for _, ref := range []string{"gone", org.ID.String()} {
		if _, err := ann.Organization(ctx, ref); !codersdk.Is(err, codersdk.CodeNotFound) || !strings.Contains(err.Error(), codersdk.NotFound().Message) {
			t.Errorf("%s: %v", ref, err)
		}
		if _, err := ann.Groups(ctx, ref); !codersdk.Is(err, codersdk.CodeNotFound) {
			t.Errorf("its groups: %v", err)
		}
	}
	if u, err := ann.User(ctx, "me"); err != nil || len(u.OrganizationIDs) != 1 {
		t.Errorf("ann goes on as %+v, %v", u, err)
	}
	again := socket(t, s, ann, "/changes")
	_, err = root.SuspendUser(ctx, "ann")
	must(t, err)
	ends(t, "suspended", again)
	if _, err := ann.User(ctx, "me"); !codersdk.Is(err, codersdk.CodeUnauthenticated) || len(err.Error()) < 20 {
		t.Errorf("in mid-session: %v", err)
	}
}
