package httpapi_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// TestTwoTabs has several change the same thing at once, each as they read it:
// one of them does, the others are told, and read again before the next try.
func TestTwoTabs(t *testing.T) {
	s := servertest.Start(t, nil)
	ctx, c := t.Context(), s.Client
	org := s.First.OrganizationID.String()
	s.Member(t, "ann")
	v := push(t, c, map[string]string{"README.md": "# Mine"}, nil)
	tpl, err := c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "mine", TemplateVersionID: v.ID})
	must(t, err)
	group, err := c.CreateGroup(ctx, "default", codersdk.CreateGroupRequest{Name: "eng"})
	must(t, err)
	role, err := c.CreateOrganizationRole(ctx, "default", codersdk.CustomRoleRequest{Name: "reader"})
	must(t, err)

	for what, edit := range map[string]struct {
		read  func() (time.Time, error)
		write func(ctx context.Context, u codersdk.IfUnchanged, n int) error
	}{
		"template": {
			func() (time.Time, error) { x, err := c.Template(ctx, tpl.ID); return x.UpdatedAt, err },
			func(ctx context.Context, u codersdk.IfUnchanged, n int) error {
				text := fmt.Sprint("as tab ", n, " has it")
				_, err := c.UpdateTemplate(ctx, tpl.ID, codersdk.UpdateTemplateMeta{IfUnchanged: u, Description: &text})
				return err
			},
		},
		"version": {
			func() (time.Time, error) { x, err := c.TemplateVersion(ctx, v.ID); return x.UpdatedAt, err },
			func(ctx context.Context, u codersdk.IfUnchanged, n int) error {
				_, err := c.UpdateTemplateVersion(ctx, v.ID, codersdk.PatchTemplateVersionRequest{IfUnchanged: u, Name: fmt.Sprintf("v%d-%d", n, time.Now().UnixNano())})
				return err
			},
		},
		"organization": {
			func() (time.Time, error) { x, err := c.Organization(ctx, org); return x.UpdatedAt, err },
			func(ctx context.Context, u codersdk.IfUnchanged, n int) error {
				_, err := c.UpdateOrganization(ctx, org, codersdk.UpdateOrganizationRequest{IfUnchanged: u, Description: fmt.Sprint("tab ", n)})
				return err
			},
		},
		"group": {
			func() (time.Time, error) { x, err := c.GroupByName(ctx, org, "eng"); return x.UpdatedAt, err },
			func(ctx context.Context, u codersdk.IfUnchanged, n int) error {
				quota := n + int(time.Now().UnixNano()%1000)*10
				_, err := c.UpdateGroup(ctx, group.ID, codersdk.PatchGroupRequest{IfUnchanged: u, QuotaAllowance: &quota})
				return err
			},
		},
		"role": {
			func() (time.Time, error) {
				all, err := c.OrganizationRoles(ctx, org)
				for _, r := range all {
					if r.Name == role.Name {
						return *r.UpdatedAt, err
					}
				}
				return time.Time{}, err
			},
			func(ctx context.Context, u codersdk.IfUnchanged, n int) error {
				_, err := c.UpdateOrganizationRole(ctx, org, codersdk.CustomRoleRequest{IfUnchanged: u, Name: role.Name, DisplayName: fmt.Sprint("Tab ", n)})
				return err
			},
		},
		"user": {
			func() (time.Time, error) { x, err := c.User(ctx, "ann"); return x.UpdatedAt, err },
			func(ctx context.Context, u codersdk.IfUnchanged, n int) error {
				if n%2 == 0 {
					_, err := c.UpdateUserRoles(ctx, "ann", codersdk.UpdateRoles{IfUnchanged: u, Roles: []string{"auditor"}})
					return err
				}
				_, err := c.UpdateUserProfile(ctx, "ann", codersdk.UpdateUserProfileRequest{IfUnchanged: u, Name: fmt.Sprint("Ann ", n)})
				return err
			},
		},
		"member": {
			func() (time.Time, error) { x, err := c.OrganizationMember(ctx, org, "ann"); return x.UpdatedAt, err },
			func(ctx context.Context, u codersdk.IfUnchanged, n int) error {
				_, err := c.UpdateOrganizationMemberRoles(ctx, org, "ann", codersdk.UpdateRoles{IfUnchanged: u, Roles: []string{"organization-auditor"}})
				return err
			},
		},
	} {
		t.Run(what, func(t *testing.T) {
			was, err := edit.read()
			must(t, err)
			var mu sync.Mutex
			saved := 0
			var wg sync.WaitGroup
			for n := range 6 {
				wg.Go(func() {
					err := edit.write(ctx, codersdk.IfUnchanged{IfUpdatedAt: &was}, n)
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err == nil:
						saved++
					case !codersdk.Is(err, codersdk.CodePrecondition) || !strings.Contains(err.Error(), "The "+what+" was changed after you opened it"):
						t.Errorf("refused by %v", err)
					}
				})
			}
			wg.Wait()
			if saved != 1 {
				t.Fatalf("%d of 6 were saved", saved)
			}
			now, err := edit.read()
			must(t, err)
			must(t, edit.write(ctx, codersdk.IfUnchanged{IfUpdatedAt: &now}, 7))
			must(t, edit.write(ctx, codersdk.IfUnchanged{}, 9)) // who expects nothing is refused nothing
		})
	}
}

// TestTwoPublish has two tabs publish a version each, seeing the same active one.
func TestTwoPublish(t *testing.T) {
	s := servertest.Start(t, nil)
	ctx, c := t.Context(), s.Client
	first := push(t, c, map[string]string{"README.md": "one"}, nil)
	tpl, err := c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "mine", TemplateVersionID: first.ID})
	must(t, err)
	var next []codersdk.TemplateVersion
	for _, text := range []string{"two", "three"} {
		next = append(next, push(t, c, map[string]string{"README.md": text}, func(r *codersdk.CreateTemplateVersionRequest) { r.TemplateID = tpl.ID }))
	}
	publish := func(id, seen uuid.UUID) error {
		return c.UpdateActiveTemplateVersion(ctx, tpl.ID, codersdk.UpdateActiveTemplateVersion{ID: id, IfActiveVersionID: &seen})
	}
	must(t, publish(next[0].ID, first.ID))
	must(t, publish(next[0].ID, first.ID)) // the same once more is what it is already
	err = publish(next[1].ID, first.ID)
	if !codersdk.Is(err, codersdk.CodePrecondition) || !strings.Contains(err.Error(), next[0].Name) || !strings.Contains(err.Error(), "nothing was published") {
		t.Errorf("the second tab: %v", err)
	}
	if now, err := c.Template(ctx, tpl.ID); err != nil || now.ActiveVersionID != next[0].ID {
		t.Errorf("active is %v, %v", now.ActiveVersionID, err)
	}
	must(t, publish(next[1].ID, next[0].ID))
}
