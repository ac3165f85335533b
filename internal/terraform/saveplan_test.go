package terraform

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/ahead"
)

const ready = head + `
variable "zone" { default = "a" }
data "coder_parameter" "size" {
  name    = "size"
  default = "2"
}
resource "coder_agent" "main" {
  os   = "linux"
  arch = "amd64"
}
module "m" {
  source = "./m"
  name   = file("${path.module}/name.txt")
}
resource "terraform_data" "host" {
  count = data.coder_workspace.me.start_count
  input = join(" ", [var.zone, module.m.name, data.coder_workspace.me.name, data.coder_parameter.size.value, data.coder_workspace_owner.me.name,
    jsonencode(data.coder_workspace_owner.me.groups), jsonencode(data.coder_workspace_owner.me.rbac_roles), data.coder_workspace_owner.me.email])
}
`

var readyFiles = map[string]string{
	"main.tf": ready, "name.txt": "stored",
	"m/main.tf": "variable \"name\" {}\noutput \"name\" { value = upper(var.name) }",
}

// startOf returns the inputs of a start after a state.
func startOf(state []byte) *provisioner.PlanRequest {
	return &provisioner.PlanRequest{
		State: state,
		Metadata: &provisioner.Metadata{
			CoderUrl: "https://coder.example.com", WorkspaceTransition: provisioner.WorkspaceTransition_START, WorkspaceName: "dev", WorkspaceId: "w",
			WorkspaceOwner: "ann", WorkspaceOwnerId: "o", WorkspaceOwnerName: "Ann", WorkspaceOwnerEmail: "ann@example.com", TemplateId: "t", TemplateName: "tn",
			TemplateVersion: "v", WorkspaceBuildId: "b", WorkspaceOwnerGroups: []string{"Everyone"},
		},
		RichParameterValues: []*provisioner.RichParameterValue{{Name: "size", Value: "2"}},
		VariableValues:      []*provisioner.VariableValue{{Name: "zone", Value: "b"}},
	}
}

// applyNow plans and applies, and returns the state.
func applyNow(t testing.TB, e *Engine, req *provisioner.PlanRequest) []byte {
	t.Helper()
	j, _ := open(t, e, readyFiles)
	ok[*provisioner.PlanComplete](t)(j.Plan(t.Context(), req))
	return ok[*provisioner.ApplyComplete](t)(j.Apply(t.Context(), &provisioner.ApplyRequest{})).GetState()
}

// save returns the saved plan of a start.
func save(t testing.TB, e *Engine, req *provisioner.PlanRequest) []byte {
	t.Helper()
	j, _ := open(t, e, readyFiles)
	ok[*provisioner.PlanComplete](t)(j.Plan(t.Context(), req))
	saved, why, err := j.SavePlan(t.Context())
	if err != nil || why != "" {
		t.Fatal(err, why)
	}
	return saved
}

// stopped returns the state of a workspace that was started and stopped.
func stopped(t testing.TB, e *Engine) []byte {
	t.Helper()
	stop := startOf(applyNow(t, e, startOf(nil)))
	stop.Metadata.WorkspaceTransition = provisioner.WorkspaceTransition_STOP
	return applyNow(t, e, stop)
}

var drawn = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// content returns the resources of a state without what every build draws or issues.
func content(t testing.TB, state []byte) string {
	t.Helper()
	var s struct {
		Resources []struct {
			Mode, Type, Name, Module string
			Instances                []struct {
				Attributes map[string]any `json:"attributes"`
			}
		}
	}
	if err := json.Unmarshal(state, &s); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Resources {
		for _, i := range r.Instances {
			delete(i.Attributes, "session_token")
		}
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return drawn.ReplaceAllString(string(b), "ID")
}

// TestASavedPlanIsApplied: another session, with what is issued for its build, applies a saved
// plan without planning, and reaches the state of a build that plans.
func TestASavedPlanIsApplied(t *testing.T) {
	e := newEngine(t)
	state := stopped(t, e)
	saved := save(t, e, startOf(state))
	req := startOf(state)
	req.Metadata.WorkspaceBuildId, req.Metadata.WorkspaceOwnerSessionToken = "another", "s3cret"
	j, _ := open(t, e, readyFiles)
	done, why, err := j.UsePlan(t.Context(), saved, req)
	if err != nil || why != "" {
		t.Fatal(err, why)
	}
	if done.GetTimings() != nil {
		t.Errorf("timings of a plan: %v", done.GetTimings())
	}
	applied := ok[*provisioner.ApplyComplete](t)(j.Apply(t.Context(), &provisioner.ApplyRequest{}))
	if j.Refused() {
		t.Error("an applied plan counts as refused")
	}
	if got, want := content(t, applied.GetState()), content(t, applyNow(t, e, startOf(state))); got != want {
		t.Errorf("the state is\n%s\nand that of a build that plans\n%s", got, want)
	}
	if strings.Contains(j.log(), "s3cret") {
		t.Error("the log contains a token")
	}
}

// changes change one input of a start each.
var changes = map[string]func(*provisioner.PlanRequest){
	"name":  func(r *provisioner.PlanRequest) { r.Metadata.WorkspaceName = "renamed" },
	"owner": func(r *provisioner.PlanRequest) { r.Metadata.WorkspaceOwner = "bob" },
	"email": func(r *provisioner.PlanRequest) { r.Metadata.WorkspaceOwnerEmail = "bob@example.com" },
	"group": func(r *provisioner.PlanRequest) { r.Metadata.WorkspaceOwnerGroups = []string{"Everyone", "admins"} },
	"role": func(r *provisioner.PlanRequest) {
		r.Metadata.WorkspaceOwnerRbacRoles = []*provisioner.Role{{Name: "owner"}}
	},
	"SSH key":    func(r *provisioner.PlanRequest) { r.Metadata.WorkspaceOwnerSshPrivateKey = "key" },
	"version":    func(r *provisioner.PlanRequest) { r.Metadata.TemplateVersion = "w" },
	"access URL": func(r *provisioner.PlanRequest) { r.Metadata.CoderUrl = "https://other.example.com" },
	"parameter":  func(r *provisioner.PlanRequest) { r.RichParameterValues[0].Value = "3" },
	"previous": func(r *provisioner.PlanRequest) {
		r.PreviousParameterValues = []*provisioner.RichParameterValue{{Name: "size", Value: "1"}}
	},
	"variable": func(r *provisioner.PlanRequest) { r.VariableValues[0].Value = "c" },
	"transition": func(r *provisioner.PlanRequest) {
		r.Metadata.WorkspaceTransition = provisioner.WorkspaceTransition_STOP
	},
	"no state":      func(r *provisioner.PlanRequest) { r.State = nil },
	"another state": func(r *provisioner.PlanRequest) { r.State = changedState(r.State) },
}

// TestASavedPlanOfOtherInputsIsNotUsed checks every change, and combinations of them.
func TestASavedPlanOfOtherInputsIsNotUsed(t *testing.T) {
	e := newEngine(t)
	state := stopped(t, e)
	saved := save(t, e, startOf(state))
	j, _ := open(t, e, readyFiles)
	refuse := func(what string, req *provisioner.PlanRequest) {
		t.Helper()
		if done, why, err := j.UsePlan(t.Context(), saved, req); err != nil || why == "" || done != nil {
			t.Errorf("after a change of %s the plan is used: %v", what, err)
		}
	}
	for name, change := range changes {
		req := startOf(state)
		change(req)
		refuse(name, req)
	}
	for range 300 {
		req, all := startOf(state), ""
		for name, change := range changes {
			if rand.IntN(4) == 0 {
				change(req)
				all += name + " "
			}
		}
		if !proto.Equal(req, startOf(state)) {
			refuse(all, req)
		}
	}
	if _, err := j.Apply(t.Context(), &provisioner.ApplyRequest{}); err == nil {
		t.Error("a plan that is not used can be applied")
	}
	if _, why, err := j.UsePlan(t.Context(), []byte("{"), startOf(state)); err != nil || why == "" {
		t.Errorf("a damaged plan: %q, %v", why, err)
	}
}

// TestTerraformRefusesAStalePlan: even with the right basis, Terraform does not apply a plan of
// another state; the session then plans.
func TestTerraformRefusesAStalePlan(t *testing.T) {
	e := newEngine(t)
	state := stopped(t, e)
	saved := save(t, e, startOf(state))
	for name, now := range map[string][]byte{"another serial": changedState(state), "no state": nil} {
		t.Run(name, func(t *testing.T) {
			j, _ := open(t, e, readyFiles)
			req := startOf(now)
			p, err := ahead.Unpack(saved)
			if err != nil {
				t.Fatal(err)
			}
			if err := j.setInputs(req); err != nil {
				t.Fatal(err)
			}
			if p.Basis, err = j.basis(); err != nil {
				t.Fatal(err)
			}
			forged, err := p.Pack()
			if err != nil {
				t.Fatal(err)
			}
			if _, why, err := j.UsePlan(t.Context(), forged, req); err != nil || why != "" {
				t.Fatal(err, why)
			}
			if done, err := j.Apply(t.Context(), &provisioner.ApplyRequest{}); err != nil || done.GetError() == "" || !j.Refused() {
				t.Fatalf("Terraform applied it: %v, %v, %t", done.GetError(), err, j.Refused())
			}
			ok[*provisioner.PlanComplete](t)(j.Plan(t.Context(), req))
			done := ok[*provisioner.ApplyComplete](t)(j.Apply(t.Context(), &provisioner.ApplyRequest{}))
			if got, want := content(t, done.GetState()), content(t, applyNow(t, e, startOf(now))); got != want || j.Refused() {
				t.Errorf("the state is\n%s\nand that of a build that plans\n%s", got, want)
			}
		})
	}
}

// changedState returns a state as after another build.
func changedState(state []byte) []byte {
	return regexp.MustCompile(`"serial": *(\d+)`).ReplaceAll(state, []byte(`"serial": 9$1`))
}
