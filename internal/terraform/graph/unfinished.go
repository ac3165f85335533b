package graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Terraform writes its state after each resource, together with all others as
// they are in memory. A resource that its provider has created but whose
// provisioners still run looks complete in that file. If Terraform dies then,
// the next build would not run those provisioners again. So the state of an
// interrupted Terraform is used only after every incompletely created resource
// in it is marked as tainted, which makes the next build create it again.

// Address identifies an instance of a resource, in Terraform's output and in
// its state.
type Address struct {
	Module string `json:"module,omitempty"`
	Type   string `json:"type"`
	Name   string `json:"name"`
	Key    string `json:"key,omitempty"` // canonical JSON of the count or for_each key, "" for none
}

// String returns the address of the instance.
func (i Address) String() string {
	text := i.Type + "." + i.Name
	if i.Module != "" {
		text = i.Module + "." + text
	}
	if i.Key != "" {
		text += "[" + i.Key + "]"
	}
	return text
}

// InstanceKey returns the canonical JSON of an instance key as Terraform writes it.
func InstanceKey(raw json.RawMessage) string {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil || v == nil {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// Event is a message of `terraform plan -json` or `terraform apply -json` about
// an instance: its type, such as apply_start, and its action, such as create.
type Event struct {
	Type    string  `json:"event"`
	Action  string  `json:"action"`
	Address Address `json:"instance"`
}

// creation is the progress of the creation of one instance.
type creation struct {
	replaces bool // until open, the state contains the replaced object
	open     bool // the old object is destroyed, or the creation has started
	done     bool // the object exists and its provisioners have run
}

// Creations follows an apply: which instances it creates, and which of them are
// complete. Everything is written to a journal first, so that another process
// can read it after this one was killed. It is safe for concurrent use.
type Creations struct {
	mu      sync.Mutex
	of      map[Address]*creation
	journal *os.File // nil before an apply and without a watcher
	changes int      // counts events that may change the result of Taint
}

// NewCreations returns Creations that know no instance.
func NewCreations() *Creations { return &Creations{of: map[Address]*creation{}} }

// Take records an event.
func (c *Creations) Take(e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.learn(e) && c.journal != nil {
		// Without the journal too much is tainted, never too little.
		_, _ = c.journal.Write(e.line())
	}
}

// learn reports whether the event is about the creation of an instance.
func (c *Creations) learn(e Event) bool {
	known := c.of[e.Address]
	switch {
	case e.Address.Type == "":
		return false
	case e.Type == "planned_change" && (e.Action == "create" || e.Action == "replace"):
		if known == nil {
			c.of[e.Address] = &creation{replaces: e.Action == "replace"}
		}
	case e.Type == "apply_start" && e.Action == "create":
		if known == nil {
			known = &creation{}
			c.of[e.Address] = known
		}
		known.open = true
	case e.Type == "apply_complete" && e.Action == "create" && known != nil:
		known.done = true
	case e.Type == "apply_complete" && e.Action == "delete" && known != nil:
		known.open = true
	default:
		return false
	}
	c.changes++
	return true
}

// line returns the event as a line of the journal. It contains no values of the
// template.
func (e Event) line() []byte {
	b, err := json.Marshal(e)
	if err != nil {
		return nil
	}
	return append(b, '\n')
}

const journalFile = "journal"

// Record writes what is known, and all later events, to a file in the
// directory, until Close.
func (c *Creations) Record(dir string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b bytes.Buffer
	for i, known := range c.of {
		e := Event{Type: "planned_change", Action: "create", Address: i}
		if known.replaces {
			e.Action = "replace"
		}
		b.Write(e.line())
	}
	name := filepath.Join(dir, journalFile)
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		return fmt.Errorf("start the journal of an apply: %w", err)
	}
	var err error
	if c.journal, err = os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return fmt.Errorf("start the journal of an apply: %w", err)
	}
	return nil
}

// Close closes the journal; its file stays.
func (c *Creations) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.journal != nil {
		c.journal.Close() //nolint:errcheck // every line was written at once
		c.journal = nil
	}
}

// ReadJournal returns what the journal in a directory contains, or nil without
// a journal.
func ReadJournal(dir string) (*Creations, error) {
	b, err := os.ReadFile(filepath.Join(dir, journalFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal of an apply: %w", err)
	}
	c := NewCreations()
	for line := range bytes.Lines(b) {
		var e Event
		if json.Unmarshal(line, &e) == nil { // the last one may be cut off
			c.learn(e)
		}
	}
	return c, nil
}

// Version returns a number that changes whenever the result of Taint may
// change.
func (c *Creations) Version() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

// Taint returns the state with every incompletely created instance marked as
// tainted, and the addresses of those instances. If there is none, or for nil
// Creations, it returns the state unchanged.
func (c *Creations) Taint(state []byte) ([]byte, []Address, error) {
	if c == nil || len(state) == 0 {
		return state, nil, nil
	}
	c.mu.Lock()
	unfinished := map[Address]bool{}
	for i, known := range c.of {
		if !known.done && (known.open || !known.replaces) {
			unfinished[i] = true
		}
	}
	c.mu.Unlock()
	if len(unfinished) == 0 {
		return state, nil, nil
	}
	var marked []Address
	out, err := EditInstances(state, func(i Address, fields map[string]json.RawMessage) bool {
		if !unfinished[i] || isTainted(fields) {
			return false
		}
		fields["status"] = json.RawMessage(`"tainted"`)
		marked = append(marked, i)
		return true
	})
	if err != nil || len(marked) == 0 {
		return state, nil, err
	}
	return out, marked, nil
}

func isTainted(fields map[string]json.RawMessage) bool {
	return string(fields["status"]) == `"tainted"`
}

// Tainted returns the instances that a state marks as tainted.
func Tainted(state []byte) []Address {
	var found []Address
	// Terraform itself reports a state that cannot be read.
	_, _ = EditInstances(state, func(i Address, fields map[string]json.RawMessage) bool {
		if isTainted(fields) {
			found = append(found, i)
		}
		return false
	})
	return found
}

// EditInstances calls edit with each current instance of a managed resource and
// returns the edited state; all other text stays the same.
func EditInstances(state []byte, edit func(Address, map[string]json.RawMessage) bool) ([]byte, error) {
	var whole map[string]json.RawMessage
	var resources []map[string]json.RawMessage
	if len(state) == 0 {
		return state, nil
	}
	if err := json.Unmarshal(state, &whole); err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	if err := unmarshalSome(whole["resources"], &resources); err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	changed := false
	for _, r := range resources {
		var head struct{ Module, Mode, Type, Name string }
		for name, to := range map[string]*string{"module": &head.Module, "mode": &head.Mode, "type": &head.Type, "name": &head.Name} {
			if err := unmarshalSome(r[name], to); err != nil {
				return nil, fmt.Errorf("read state: %w", err)
			}
		}
		if head.Mode != "managed" {
			continue
		}
		var instances []map[string]json.RawMessage
		if err := unmarshalSome(r["instances"], &instances); err != nil {
			return nil, fmt.Errorf("read state: %w", err)
		}
		edited := false
		for _, fields := range instances {
			if _, deposed := fields["deposed"]; deposed {
				continue
			}
			edited = edit(Address{head.Module, head.Type, head.Name, InstanceKey(fields["index_key"])}, fields) || edited
		}
		if !edited {
			continue
		}
		changed = true
		raw, err := json.Marshal(instances)
		if err != nil {
			return nil, err
		}
		r["instances"] = raw
	}
	if !changed {
		return state, nil
	}
	raw, err := json.Marshal(resources)
	if err != nil {
		return nil, err
	}
	whole["resources"] = raw
	return json.MarshalIndent(whole, "", "  ")
}

// unmarshalSome is json.Unmarshal that skips missing values.
func unmarshalSome(raw json.RawMessage, to any) error {
	if len(raw) == 0 {
		return nil
	}
	return json.Unmarshal(raw, to)
}
