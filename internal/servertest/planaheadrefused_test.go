package servertest_test

import (
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/ahead"
	"github.com/seed-2a7f8fe7/coder/internal/testport"
)

// TestARefusedPlanIsMadeAgain: a plan that the provisioner or Terraform refuses costs a start
// nothing but time, and its log says so. Metrics count what becomes of plans.
func TestARefusedPlanIsMadeAgain(t *testing.T) {
	address := testport.FreeAddress(t)
	h := newHouse(t, func(c *server.Config) {
		c.Observability.PrometheusEnable, c.Observability.PrometheusAddress = true, address
	})
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
	h.ahead(w)
	h.build(w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart})
	h.build(w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop})
	h.ahead(w)
	h.build(w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop}) // not what was planned
	page := metricsPage(t, address)
	for _, want := range []string{
		"coderd_plans_ahead_used_total 1\n", `coderd_plans_ahead_discarded_total{reason="refused"} 2` + "\n",
		`coderd_plans_ahead_discarded_total{reason="stale"} 1` + "\n", `coderd_plans_ahead_discarded_total{reason="too_old"} 0` + "\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if made := samples(t, page)["coderd_plans_ahead_made_total"]; len(made) != 1 || made[0].value < 4 {
		t.Errorf("the metrics have %v plans", made)
	}
}
