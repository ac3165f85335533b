// Package graph reads a Terraform plan or state and converts it to messages of
// the provisioner wire: resources, their agents, and what belongs to the
// agents.
//
// A state and a plan are converted to one form, Model: a list of instances with
// their values, and edges between their resources. The edges of a state are the
// dependencies that it records. The edges of a plan come from `terraform
// graph`; references of arguments come from the configuration in the plan,
// because ids are still unknown.
//
// An agent runs in the resource that depends on it; of several candidates in
// the nearest, the one that depends on no other candidate. With count or
// for_each, instances with the same keys belong together, and values that
// contain an agent's token or id decide the rest. An agent on which nothing
// depends is not part of the workspace, so a stopped workspace has no agent.
//
// Mistakes of the template's author are errors whose text is written for the
// author.
package graph

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/graph/attribute"
)

// assembly converts a model.
type assembly struct {
	*Model
	warn      func(format string, args ...any)
	agents    map[*instance]*provisioner.Agent
	inner     map[*instance]*provisioner.Devcontainer
	resources map[*instance]*provisioner.Resource
}

// Complete returns the response to a GraphRequest, without timings. Its errors
// are about the template; warn receives warnings.
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

// compute reports whether users see the instance as a resource.
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

// instanceType returns the name of a machine's size, for providers that have
// one.
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

// agentName matches a valid agent name, which becomes part of host names.
var agentName = regexp.MustCompile(`^(?i)[a-z0-9](-?[a-z0-9])*$`)

func (g *assembly) addAgents(*provisioner.GraphComplete) error {
	g.agents = map[*instance]*provisioner.Agent{}
	names := map[string]string{}
	for _, i := range g.of("managed", "coder_agent") {
		home := g.home(i)
		if home == nil {
			continue // a stopped workspace, or an agent without a resource
		}
		if !agentName.MatchString(i.name) {
			return fmt.Errorf("%s: the name of an agent becomes part of host names; use letters, digits and single hyphens, as in %q",
				i.address, strings.Trim(strings.ReplaceAll(i.name, "_", "-"), "-"))
		}
		if other, ok := names[strings.ToLower(i.name)]; ok {
			return fmt.Errorf("%s and %s have the same name; agent names must be unique in a workspace", other, i.address)
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

// home returns the resource that an agent runs in: the nearest one that depends
// on it.
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

// nearest removes the candidates that depend on another one.
func (g *assembly) nearest(candidates []*instance) []*instance {
	near := slices.DeleteFunc(slices.Clone(candidates), func(i *instance) bool {
		return slices.ContainsFunc(candidates, func(other *instance) bool {
			return other.resource() != i.resource() && g.closure(i.resource())[other.resource()] &&
				!g.closure(other.resource())[i.resource()]
		})
	})
	return near
}

// sameKeys keeps the candidates that share the most keys of count and for_each
// with an agent. It drops candidates whose keys all differ.
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

// naming returns the candidates whose values contain the agent's token or id.
// Many resources contain it in an encoded form, so an empty result means
// nothing.
func (g *assembly) naming(agent *instance, candidates []*instance) []*instance {
	var a attribute.Agent
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

// target returns the instance whose id an argument contains.
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
	// Before an apply the id is unknown, so use what the argument refers to.
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
	// Of several in one chain of dependencies, the last one is meant: the
	// others are its dependencies.
	last := slices.DeleteFunc(slices.Clone(reached), func(t *instance) bool {
		return slices.ContainsFunc(reached, func(other *instance) bool {
			return other.resource() != t.resource() && g.closure(other.resource())[t.resource()]
		})
	})
	return closest(i, last)
}

// closest returns the instance that shares the most keys of count and for_each
// with i.
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
