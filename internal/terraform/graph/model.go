package graph

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// instance is one object of a state or a plan. Dependencies are in the model,
// shared by all instances of a resource.
type instance struct {
	address string // module.a["x"].docker_container.dev[0]
	module  string // module.a["x"], empty for the top
	mode    string // managed or data
	typ     string
	name    string
	key     string // 0 or "x", JSON; empty for a resource without count and for_each
	values  json.RawMessage
	refs    map[string][]string // of a plan: what an argument refers to, as written
}

// resource returns the address without keys, as edges have it.
func (i *instance) resource() string { return withoutKeys(i.address) }

// keys returns the keys of the instance's modules and its own.
func (i *instance) keys() []string { return keyPattern.FindAllString(i.address, -1) }

func (i *instance) managed() bool { return i.mode == "managed" }

// decode reads the values into a struct. Values that are unknown in a plan
// become zero.
func (i *instance) decode(into any) error {
	if len(i.values) == 0 {
		return nil
	}
	if err := json.Unmarshal(i.values, into); err != nil {
		return fmt.Errorf("read the values of %s: %w", i.address, err)
	}
	return nil
}

// id returns the id, or "" if it is unknown or not a string.
func (i *instance) id() string {
	var v struct {
		ID json.RawMessage `json:"id"`
	}
	var id string
	if i.decode(&v) != nil || json.Unmarshal(v.ID, &id) != nil {
		return ""
	}
	return id
}

// keyPattern matches an index in an address: [0] or ["x"].
var keyPattern = regexp.MustCompile(`\[(?:\d+|"(?:[^"\\]|\\.)*")\]`)

func withoutKeys(address string) string { return keyPattern.ReplaceAllString(address, "") }

// Model is the common form of states and plans.
type Model struct {
	instances []*instance
	edges     map[string][]string // from a resource to its dependencies
	reach     map[string]map[string]bool
}

// of returns the instances of a mode and type, ordered by address.
func (m *Model) of(mode, typ string) []*instance {
	var found []*instance
	for _, i := range m.instances {
		if i.mode == mode && i.typ == typ {
			found = append(found, i)
		}
	}
	return found
}

// closure returns the direct and indirect dependencies of a resource. It
// tolerates cycles, which Terraform refuses but a given state may contain.
func (m *Model) closure(resource string) map[string]bool {
	if c, ok := m.reach[resource]; ok {
		return c
	}
	seen := map[string]bool{}
	todo := slices.Clone(m.edges[resource])
	for len(todo) > 0 {
		r := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !seen[r] {
			seen[r] = true
			todo = append(todo, m.edges[r]...)
		}
	}
	if m.reach == nil {
		m.reach = map[string]map[string]bool{}
	}
	m.reach[resource] = seen
	return seen
}

// sort orders the instances by address, with numbers by value.
func (m *Model) sort() {
	slices.SortStableFunc(m.instances, func(a, b *instance) int { return compareAddresses(a.address, b.address) })
}

func compareAddresses(a, b string) int {
	if c := cmp.Compare(withoutKeys(a), withoutKeys(b)); c != 0 {
		return c
	}
	x, y := keyPattern.FindAllString(a, -1), keyPattern.FindAllString(b, -1)
	for i := range min(len(x), len(y)) {
		m, errM := strconv.Atoi(strings.Trim(x[i], "[]"))
		n, errN := strconv.Atoi(strings.Trim(y[i], "[]"))
		if errM == nil && errN == nil {
			if c := cmp.Compare(m, n); c != 0 {
				return c
			}
			continue
		}
		if c := cmp.Compare(x[i], y[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(a, b)
}

// rawState is the state file, version 4.
type rawState struct {
	Version   int `json:"version"`
	Resources []struct {
		Module    string `json:"module"`
		Mode      string `json:"mode"`
		Type      string `json:"type"`
		Name      string `json:"name"`
		Instances []struct {
			IndexKey     json.RawMessage `json:"index_key"`
			Deposed      string          `json:"deposed"`
			Attributes   json.RawMessage `json:"attributes"`
			Dependencies []string        `json:"dependencies"`
		} `json:"instances"`
	} `json:"resources"`
}

// ReadState converts a state file. An empty file is an empty state.
func ReadState(raw []byte) (*Model, error) {
	m := &Model{edges: map[string][]string{}}
	if len(raw) == 0 {
		return m, nil
	}
	var state rawState
	if err := json.Unmarshal(raw, &state); err != nil {
		return nil, fmt.Errorf("the state is not valid JSON: %v", err)
	}
	if state.Version != 4 {
		return nil, fmt.Errorf("the state has version %d; only version 4 is supported", state.Version)
	}
	for _, r := range state.Resources {
		address := r.Type + "." + r.Name
		if r.Mode == "data" {
			address = "data." + address
		}
		if r.Module != "" {
			address = r.Module + "." + address
		}
		edges := map[string]bool{}
		for _, i := range r.Instances {
			if i.Deposed != "" {
				continue
			}
			for _, d := range i.Dependencies {
				edges[withoutKeys(d)] = true
			}
			key := ""
			if len(i.IndexKey) > 0 && string(i.IndexKey) != "null" {
				key = string(i.IndexKey)
			}
			in := &instance{address: address, module: r.Module, mode: r.Mode, typ: r.Type, name: r.Name, key: key, values: i.Attributes}
			if key != "" {
				in.address += "[" + key + "]"
			}
			m.instances = append(m.instances, in)
		}
		resource := withoutKeys(address)
		m.edges[resource] = append(m.edges[resource], slices.Sorted(maps.Keys(edges))...)
	}
	m.sort()
	return m, nil
}
