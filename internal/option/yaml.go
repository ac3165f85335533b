package option

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// ReadFile sets options from a YAML file, except those that a flag or the
// environment already set. An unknown key is an error.
func ReadFile(path string, options []*Option) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return codersdk.Errorf(codersdk.CodeInvalid, "--config: %s", err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return codersdk.Errorf(codersdk.CodeInvalid, "--config: %s is not YAML: %s", path, err)
	}
	if len(doc.Content) == 0 {
		return nil
	}
	keys := map[string]*Option{}
	for _, o := range options {
		if o.Key != "" {
			keys[o.Key] = o
		}
	}
	return takeNode(path, "", doc.Content[0], keys)
}

// takeNode sets the option whose key is that of the node, or descends into the
// node.
func takeNode(path, key string, n *yaml.Node, keys map[string]*Option) error {
	if o := keys[key]; o != nil {
		return takeValue(o, n)
	}
	if n.Kind != yaml.MappingNode {
		if n.Tag == "!!null" || key == "" {
			return nil
		}
		return codersdk.Errorf(codersdk.CodeInvalid, "%s, line %d: unknown option %s", path, n.Line, key)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		below := n.Content[i].Value
		if key != "" {
			below = key + "." + below
		}
		if err := takeNode(path, below, n.Content[i+1], keys); err != nil {
			return err
		}
	}
	return nil
}

func takeValue(o *Option, n *yaml.Node) error {
	if o.Origin == FromFlag || o.Origin == FromEnvironment || n.Tag == "!!null" {
		return nil
	}
	if n.Kind == yaml.ScalarNode && !strings.HasPrefix(o.Value.Kind, "struct[") {
		return o.Put(FromFile, n.Value)
	}
	if n.Kind == yaml.SequenceNode && !o.Value.Single {
		var items []string
		if err := n.Decode(&items); err != nil {
			return codersdk.Errorf(codersdk.CodeInvalid, "%s, line %d: %s", o.Key, n.Line, err)
		}
		return o.Put(FromFile, JoinCSV(items))
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return codersdk.Errorf(codersdk.CodeInvalid, "%s, line %d: %s", o.Key, n.Line, err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return codersdk.Errorf(codersdk.CodeInvalid, "%s, line %d: %s", o.Key, n.Line, err)
	}
	return o.Put(FromFile, string(b))
}

// WriteFile returns the options as YAML with their values, and their descriptions as
// comments that wrap breaks into lines. Refused options are omitted.
func WriteFile(options []*Option, wrap func(text string) string) (string, error) {
	root := &yaml.Node{Kind: yaml.MappingNode}
	for _, o := range options {
		if o.Key == "" || o.Refusal != "" {
			continue
		}
		at := root
		parts := strings.Split(o.Key, ".")
		for _, p := range parts[:len(parts)-1] {
			at = childMap(at, p)
		}
		value, err := valueNode(o)
		if err != nil {
			return "", fmt.Errorf("%s: %w", o.Key, err)
		}
		name := &yaml.Node{Kind: yaml.ScalarNode, Value: parts[len(parts)-1], HeadComment: wrap(o.Text)}
		at.Content = append(at.Content, name, value)
	}
	b, err := yaml.Marshal(&yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{root}})
	return string(b), err
}

// childMap returns the child mapping with that name, and adds it when it does
// not exist.
func childMap(at *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(at.Content); i += 2 {
		if at.Content[i].Value == name {
			return at.Content[i+1]
		}
	}
	child := &yaml.Node{Kind: yaml.MappingNode}
	at.Content = append(at.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, child)
	return child
}

func valueNode(o *Option) (*yaml.Node, error) {
	s := o.Value.Get()
	n := &yaml.Node{}
	switch {
	case o.Value.Kind == "bool":
		return n, n.Encode(s == "true")
	case o.Value.Kind == "int":
		i, err := strconv.Atoi(s)
		if err != nil {
			return nil, err
		}
		return n, n.Encode(i)
	case strings.HasPrefix(o.Value.Kind, "struct["):
		if s == "" {
			return n, n.Encode(nil)
		}
		var v any
		if err := json.Unmarshal([]byte(s), &v); err != nil {
			return nil, err
		}
		return n, n.Encode(v)
	case !o.Value.Single:
		items, err := SplitCSV(s)
		if err != nil {
			return nil, err
		}
		if items == nil {
			items = []string{}
		}
		return n, n.Encode(items)
	}
	return n, n.Encode(s)
}
