package graph

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
)

// Plan is what is read of `terraform show -json` of a plan.
type Plan struct {
	PlannedValues planValues `json:"planned_values"`
	PriorState    *struct {
		Values planValues `json:"values"`
	} `json:"prior_state"`
	ResourceChanges []struct {
		Address string `json:"address"`
		Mode    string `json:"mode"`
		Type    string `json:"type"`
		Change  struct {
			Actions      []string          `json:"actions"`
			ReplacePaths []json.RawMessage `json:"replace_paths"`
		} `json:"change"`
	} `json:"resource_changes"`
	Configuration struct {
		RootModule configModule `json:"root_module"`
	} `json:"configuration"`
}

type planValues struct {
	RootModule planModule `json:"root_module"`
}

type planModule struct {
	Address   string `json:"address"`
	Resources []struct {
		Address string          `json:"address"`
		Mode    string          `json:"mode"`
		Type    string          `json:"type"`
		Name    string          `json:"name"`
		Index   json.RawMessage `json:"index"`
		Values  json.RawMessage `json:"values"`
	} `json:"resources"`
	ChildModules []planModule `json:"child_modules"`
}

type configModule struct {
	Resources []struct {
		Address     string                     `json:"address"`
		Expressions map[string]json.RawMessage `json:"expressions"`
	} `json:"resources"`
	ModuleCalls map[string]struct {
		Module configModule `json:"module"`
	} `json:"module_calls"`
}

// ReadPlan reads the JSON form of a plan.
func ReadPlan(raw []byte) (*Plan, error) {
	var p Plan
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	return &p, nil
}

// Model brings a plan into the common form; dot is `terraform graph`.
func (p *Plan) Model(dot []byte) *Model {
	m := &Model{edges: readDot(dot)}
	refs := map[string]map[string][]string{}
	p.Configuration.RootModule.collect("", refs)
	seen := map[string]bool{}
	add := func(i *instance) {
		if !seen[i.address] {
			seen[i.address] = true
			i.refs = refs[i.resource()]
			m.instances = append(m.instances, i)
		}
	}
	p.PlannedValues.RootModule.each(add)
	// Data sources that were read while planning are in the prior state only.
	if p.PriorState != nil {
		p.PriorState.Values.RootModule.each(func(i *instance) {
			if i.mode == "data" {
				add(i)
			}
		})
	}
	m.sort()
	return m
}

func (pm *planModule) each(f func(*instance)) {
	for _, r := range pm.Resources {
		i := &instance{address: r.Address, module: pm.Address, mode: r.Mode, typ: r.Type, name: r.Name, values: r.Values}
		if len(r.Index) > 0 && string(r.Index) != "null" {
			i.key = string(r.Index)
		}
		f(i)
	}
	for _, c := range pm.ChildModules {
		c.each(f)
	}
}

// collect finds what the arguments of each resource refer to.
func (c *configModule) collect(module string, into map[string]map[string][]string) {
	prefix := ""
	if module != "" {
		prefix = module + "."
	}
	for _, r := range c.Resources {
		for _, argument := range []string{"agent_id", "resource_id", "instance_id"} {
			raw, ok := r.Expressions[argument]
			if !ok {
				continue
			}
			var e struct {
				References []string `json:"references"`
			}
			if json.Unmarshal(raw, &e) != nil {
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
		call.Module.collect(prefix+"module."+name, into)
	}
}

// DailyCost is the sum over everything that will be there.
func (p *Plan) DailyCost() int32 {
	var sum int32
	p.PlannedValues.RootModule.each(func(i *instance) {
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

// AITasks counts the coder_ai_task that will be there.
func (p *Plan) AITasks() int32 {
	var n int32
	p.PlannedValues.RootModule.each(func(i *instance) {
		if i.typ == "coder_ai_task" {
			n++
		}
	})
	return n
}

// Replacements are the resources that will be destroyed and made anew, and
// which of their arguments are to blame.
func (p *Plan) Replacements() []*provisioner.ResourceReplacement {
	var all []*provisioner.ResourceReplacement
	for _, c := range p.ResourceChanges {
		if !slices.Contains(c.Change.Actions, "delete") || !slices.Contains(c.Change.Actions, "create") || strings.HasPrefix(c.Type, "coder_") {
			continue
		}
		r := &provisioner.ResourceReplacement{Resource: c.Address}
		for _, raw := range c.Change.ReplacePaths {
			var steps []any
			if json.Unmarshal(raw, &steps) != nil {
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
