// Package graph reads what Terraform planned or made, and tells it in the words
// of the provisioner wire: resources, their agents, and what belongs to those.
//
// A state file and a plan are brought into one form, Model: a list of instances
// with their values, and edges between the resources they are instances of.
// From a state the edges are the dependencies that it records; from a plan they
// are those of `terraform graph`, and what an argument refers to is read from
// the configuration that comes with the plan, since ids are still unknown.
//
// An agent runs in the resource that depends on it; of several the nearest,
// that is the one that depends on no other of them. Where count or for_each
// make several, instances with the same keys belong together, and values that
// hold an agent's token or id settle what is left. An agent that nothing
// depends on is no agent of the workspace: so a stopped workspace has none.
//
// Whatever is wrong with what the template's author wrote is an error whose
// text is meant for the author.
package graph

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
)

// assembly puts the parts of a model together.
type assembly struct {
	*Model
	warn      func(format string, args ...any)
	agents    map[*instance]*provisioner.Agent
	inner     map[*instance]*provisioner.Devcontainer
	resources map[*instance]*provisioner.Resource
}

// Complete builds the answer to a GraphRequest, without timings. Its errors are
// about the template; warn is told what is odd and not wrong.
func (m *Model) Complete(warn func(format string, args ...any)) (*provisioner.GraphComplete, error) {
	g := &assembly{Model: m, warn: warn}
	done := &provisioner.GraphComplete{}
	steps := []func(*provisioner.GraphComplete) error{
		g.addResources, g.addAgents, g.addDevcontainers, g.addApps, g.addScripts, g.addEnvs,
		g.addMetadata, g.addParameters, g.addPresets, g.addExternalAuth, g.addTasks,
	}
	for _, step := range steps {
		if err := step(done); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// compute says whether an instance is a resource that people see.
func compute(i *instance) bool {
	return i.managed() && (!strings.HasPrefix(i.typ, "coder_") || i.typ == "coder_external_agent")
}

func (g *assembly) addResources(done *provisioner.GraphComplete) error {
	g.resources = map[*instance]*provisioner.Resource{}
	for _, i := range g.instances {
		if !compute(i) {
			continue
		}
		r := &provisioner.Resource{Name: i.name, Type: i.typ, ModulePath: i.module, InstanceType: instanceType(i)}
		g.resources[i] = r
		done.Resources = append(done.Resources, r)
		done.HasExternalAgents = done.HasExternalAgents || i.typ == "coder_external_agent"
	}
	return nil
}

// instanceType gives the size of a machine where its provider has a name for it.
func instanceType(i *instance) string {
	argument := map[string]string{
		"google_compute_instance":         "machine_type",
		"aws_instance":                    "instance_type",
		"aws_spot_instance_request":       "instance_type",
		"azurerm_linux_virtual_machine":   "size",
		"azurerm_windows_virtual_machine": "size",
		"digitalocean_droplet":            "size",
		"hcloud_server":                   "server_type",
		"openstack_compute_instance_v2":   "flavor_name",
	}[i.typ]
	if argument == "" {
		return ""
	}
	values := map[string]any{}
	if i.decode(&values) != nil {
		return ""
	}
	size, _ := values[argument].(string)
	return size
}

// agentName is what an agent may be called: it becomes part of host names.
var agentName = regexp.MustCompile(`^(?i)[a-z0-9](-?[a-z0-9])*$`)

func (g *assembly) addAgents(*provisioner.GraphComplete) error {
	g.agents = map[*instance]*provisioner.Agent{}
	names := map[string]string{}
	for _, i := range g.of("managed", "coder_agent") {
		home := g.home(i)
		if home == nil {
			continue // a stopped workspace, or an agent that nothing runs
		}
		if !agentName.MatchString(i.name) {
			return fmt.Errorf("%s: the name of an agent becomes part of host names; use letters, digits and single hyphens, as in %q",
				i.address, strings.Trim(strings.ReplaceAll(i.name, "_", "-"), "-"))
		}
		if other, ok := names[strings.ToLower(i.name)]; ok {
			return fmt.Errorf("%s and %s have the same name; the names of agents must differ within a workspace", other, i.address)
		}
		names[strings.ToLower(i.name)] = i.address
		agent, err := g.agent(i, home)
		if err != nil {
			return err
		}
		g.agents[i] = agent
		g.resources[home].Agents = append(g.resources[home].Agents, agent)
	}
	for _, r := range g.resources {
		slices.SortStableFunc(r.Agents, func(a, b *provisioner.Agent) int {
			if a.GetOrder() != b.GetOrder() {
				return int(a.GetOrder() - b.GetOrder())
			}
			return strings.Compare(a.GetName(), b.GetName())
		})
	}
	return nil
}

// home finds the resource that an agent runs in: of those that depend on it,
// the nearest.
func (g *assembly) home(agent *instance) *instance {
	var candidates []*instance
	for _, i := range g.instances {
		if compute(i) && g.closure(i.resource())[agent.resource()] {
			candidates = append(candidates, i)
		}
	}
	for _, i := range g.of("managed", "coder_agent_instance") {
		if g.target(i, "agent_id", []*instance{agent}) == agent {
			if machine := g.target(i, "instance_id", g.computes()); machine != nil && len(candidates) == 0 {
				return machine
			}
		}
	}
	candidates = g.nearest(candidates)
	candidates = g.sameKeys(agent, candidates)
	if named := g.naming(agent, candidates); len(named) > 0 {
		candidates = named
	}
	if len(candidates) == 0 {
		return nil
	}
	return candidates[0]
}

func (g *assembly) computes() []*instance {
	return slices.DeleteFunc(slices.Clone(g.instances), func(i *instance) bool { return !compute(i) })
}

// nearest leaves out the candidates that depend on another one.
func (g *assembly) nearest(candidates []*instance) []*instance {
	near := slices.DeleteFunc(slices.Clone(candidates), func(i *instance) bool {
		return slices.ContainsFunc(candidates, func(other *instance) bool {
			return other.resource() != i.resource() && g.closure(i.resource())[other.resource()] &&
				!g.closure(other.resource())[i.resource()]
		})
	})
	return near
}

// sameKeys, for an agent of which there are several, keeps the candidates that
// share most of its keys of count and for_each. A candidate whose keys are all
// others is none.
func (g *assembly) sameKeys(agent *instance, candidates []*instance) []*instance {
	keys := agent.keys()
	if len(keys) == 0 {
		return candidates
	}
	best, chosen := -1, []*instance(nil)
	for _, c := range candidates {
		own, shared := c.keys(), 0
		for _, k := range own {
			if slices.Contains(keys, k) {
				shared++
			}
		}
		if len(own) > 0 && shared == 0 {
			continue
		}
		if shared > best {
			best, chosen = shared, nil
		}
		if shared == best {
			chosen = append(chosen, c)
		}
	}
	return chosen
}

// naming gives the candidates whose values hold the agent's token or id. Many
// hold it in a form that cannot be seen, so none is no answer.
func (g *assembly) naming(agent *instance, candidates []*instance) []*instance {
	var a agentAttributes
	if agent.decode(&a) != nil {
		return nil
	}
	var named []*instance
	for _, c := range candidates {
		if a.Token != "" && bytes.Contains(c.values, []byte(a.Token)) || a.ID != "" && bytes.Contains(c.values, []byte(a.ID)) {
			named = append(named, c)
		}
	}
	return named
}

// target finds the instance that an argument holds the id of.
func (g *assembly) target(i *instance, argument string, among []*instance) *instance {
	values := map[string]any{}
	_ = i.decode(&values)
	if id, _ := values[argument].(string); id != "" {
		for _, t := range among {
			if t.id() == id {
				return t
			}
		}
		return nil
	}
	// The id is unknown before an apply: what does the argument refer to?
	var exact, written []*instance
	for _, t := range among {
		local := t.resource()
		if slices.Contains(i.refs[argument], local) {
			written = append(written, t)
		}
		if t.key != "" && slices.Contains(i.refs[argument], local+"["+t.key+"]") {
			exact = append(exact, t)
		}
	}
	if len(exact) > 0 {
		return closest(i, exact)
	}
	if len(written) > 0 {
		return closest(i, written)
	}
	var reached []*instance
	for _, t := range among {
		if g.closure(i.resource())[t.resource()] {
			reached = append(reached, t)
		}
	}
	// Of several in one chain of dependencies the last is the one that was
	// meant: what it depends on comes along with it.
	last := slices.DeleteFunc(slices.Clone(reached), func(t *instance) bool {
		return slices.ContainsFunc(reached, func(other *instance) bool {
			return other.resource() != t.resource() && g.closure(other.resource())[t.resource()]
		})
	})
	return closest(i, last)
}

// closest gives the one that shares most keys of count and for_each with i.
func closest(i *instance, among []*instance) *instance {
	var chosen *instance
	best := -1
	for _, t := range among {
		shared := 0
		for _, k := range t.keys() {
			if slices.Contains(i.keys(), k) {
				shared++
			}
		}
		if shared > best {
			best, chosen = shared, t
		}
	}
	return chosen
}
