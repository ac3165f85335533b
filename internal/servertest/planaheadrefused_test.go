package servertest_test

import (
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/ahead"
)

// TestARefusedPlanIsMadeAgain: a plan that the provisioner or Terraform refuses costs a start
// nothing but time, and its log says so.
func TestARefusedPlanIsMadeAgain(t *testing.T) {
	h := newHouse(t, nil)
	w := h.stopped("dev", planned)
	for name, c := range map[string]struct {
		damage func(*ahead.Plan)
		says   string
	}{
		"another provisioner": {func(p *ahead.Plan) { p.Basis = "other" }, "The saved plan is not used, so the build plans now: this provisioner,"},
		"a damaged plan":      {func(p *ahead.Plan) { p.File = []byte("damaged") }, "The saved plan was refused, so the build plans now: terraform apply: "},
	} {
		p, err := ahead.Unpack(h.ahead(w).Plan)
		fatal(t, err)
		c.damage(&p)
		packed, err := p.Pack()
		fatal(t, err)
		_, err = h.db.Exec(t.Context(), `UPDATE workspace_plans SET plan = $1`, packed)
		fatal(t, err)
		b, log := h.build(w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart})
		if !strings.Contains(log, c.says) || !strings.Contains(log, "Planning:") || b.Status != codersdk.WorkspaceStatusRunning {
			t.Errorf("%s: the workspace is %s\n%s", name, b.Status, log)
		}
		h.build(w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop})
	}
}
