package graph

import (
	"encoding/json"
	"fmt"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
)

// Plan is a plan of Terraform or OpenTofu as `show -json` prints it.
type Plan struct{ tfjson.Plan }

// ReadPlan reads the JSON form of a plan. It refuses a newer format version.
func ReadPlan(raw []byte) (*Plan, error) {
	var p Plan
	p.UseJSONNumber(true) // float64 would lose digits of 64-bit integers
	if err := p.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	return &p, nil
}

// Model converts a plan; dot is the output of `terraform graph`.
func (p *Plan) Model(dot []byte) *Model {
	m := &Model{edges: readDot(dot)}
	refs := map[string]map[string][]string{}
	if p.Config != nil {
		collect(p.Config.RootModule, "", refs)
	}
	seen := map[string]bool{}
	add := func(i *instance) {
		if !seen[i.address] {
			seen[i.address] = true
			i.refs = refs[i.resource()]
			m.instances = append(m.instances, i)
		}
	}
	each(p.PlannedValues, add)
	// Data sources that were read during the plan are in the prior state only.
	if p.PriorState != nil {
		each(p.PriorState.Values, func(i *instance) {
			if i.mode == "data" {
				add(i)
			}
		})
	}
	m.sort()
	return m
}

// each calls f for every object of the values, in all modules.
func each(values *tfjson.StateValues, f func(*instance)) {
	if values != nil {
		eachOf(values.RootModule, f)
	}
}

func eachOf(module *tfjson.StateModule, f func(*instance)) {
	if module == nil {
		return
	}
	for _, r := range module.Resources {
		// Values that were decoded from JSON can be encoded.
		values, _ := json.Marshal(r.AttributeValues)
		i := &instance{address: r.Address, module: module.Address, mode: string(r.Mode), typ: r.Type, name: r.Name, values: values}
		if r.Index != nil {
			key, _ := json.Marshal(r.Index)
			i.key = string(key)
		}
		f(i)
	}
	for _, c := range module.ChildModules {
		eachOf(c, f)
	}
}

// collect finds what the arguments of each resource refer to.
func collect(c *tfjson.ConfigModule, module string, into map[string]map[string][]string) {
	if c == nil {
		return
	}
	prefix := ""
	if module != "" {
		prefix = module + "."
	}
	for _, r := range c.Resources {
		for _, argument := range []string{"agent_id", "resource_id", "instance_id"} {
			e := r.Expressions[argument]
			if e == nil || e.ExpressionData == nil {
				continue
			}
			if into[prefix+r.Address] == nil {
				into[prefix+r.Address] = map[string][]string{}
			}
			for _, ref := range e.References {
				into[prefix+r.Address][argument] = append(into[prefix+r.Address][argument], prefix+ref)
			}
		}
	}
	for name, call := range c.ModuleCalls {
		collect(call.Module, prefix+"module."+name, into)
	}
}

// DailyCost returns the sum over all planned resources.
func (p *Plan) DailyCost() int32 {
	var sum int32
	each(p.PlannedValues, func(i *instance) {
		if i.typ == "coder_metadata" {
			var v struct {
				DailyCost int32 `json:"daily_cost"`
			}
			if i.decode(&v) == nil {
				sum += v.DailyCost
			}
		}
	})
	return sum
}

// AITasks returns the number of planned coder_ai_task resources.
func (p *Plan) AITasks() int32 {
	var n int32
	each(p.PlannedValues, func(i *instance) {
		if i.typ == "coder_ai_task" {
			n++
		}
	})
	return n
}

// Replacements returns the resources that are destroyed and created again, with
// the arguments that cause it.
func (p *Plan) Replacements() []*provisioner.ResourceReplacement {
	var all []*provisioner.ResourceReplacement
	for _, c := range p.ResourceChanges {
		if c.Change == nil || !c.Change.Actions.Replace() || strings.HasPrefix(c.Type, "coder_") {
			continue
		}
		r := &provisioner.ResourceReplacement{Resource: c.Address}
		for _, replaced := range c.Change.ReplacePaths {
			steps, ok := replaced.([]any)
			if !ok {
				continue
			}
			var path []string
			for _, s := range steps {
				path = append(path, fmt.Sprint(s))
			}
			r.Paths = append(r.Paths, strings.Join(path, "."))
		}
		all = append(all, r)
	}
	return all
}
