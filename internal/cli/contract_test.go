package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// page is what the contract says of one command.
type page struct {
	Usage   string   `json:"usage"`
	Aliases []string `json:"aliases"`
	Options []struct{ Flag, Type, Env, YAML, Default string }
}

// ours are facts of the contract that are ours to decide, each with its reason.
var ours = map[string]string{
	"port-forward":                          "takes several workspaces",
	"templates init --id":                   "the starter templates are our own",
	"provisioner list --column":             "slots and tools are our own",
	"server --default-quiet-hours-schedule": "the page lost a blank of the cron line",
	"provisioner keys list --column":        "keys have an end and a last use of our own",
	"organizations list --column":           "weights are our own",
	"organizations show --column":           "weights are our own",
}

// beyond are commands and flags that the contract does not have, each with its
// reason; whatever else it does not have is hidden.
var beyond = map[string]string{
	"provisioner jobs explain":               "why a job waits is our own",
	"provisioner queue":                      "the queue by tag set is our own",
	"organizations edit":                     "weights are our own",
	"templates edit --max-concurrent-builds": "caps of builds are our own",
	"provisioner keys rotate":                "keys that overlap are our own",
	"provisioner keys create --expires-in":   "keys that end are our own",
	"provisioner start --concurrency":        "slots are our own",
	"provisioner start --terraform-binary":   "OpenTofu is our own",
	"provisioner start --cache-size":         "the cache has a limit of our own",
	"provisioner start --slot-memory":        "limits of a slot are our own",
	"provisioner start --slot-cpus":          "limits of a slot are our own",
	"wsproxy":                                "the contract has the endpoints of proxies, and lost the pages",
	"wsproxy server":                         "the contract has the endpoints of proxies, and lost the pages",
	"wsproxy create":                         "the contract has the endpoints of proxies, and lost the pages",
	"wsproxy list":                           "the contract has the endpoints of proxies, and lost the pages",
	"wsproxy edit":                           "the contract has the endpoints of proxies, and lost the pages",
	"wsproxy regenerate-token":               "the contract has the endpoints of proxies, and lost the pages",
	"wsproxy delete":                         "the contract has the endpoints of proxies, and lost the pages",
	"exp sync ping":                          "known from guides, which have no pages of commands",
	"exp sync want":                          "as exp sync ping",
	"exp sync start":                         "as exp sync ping",
	"exp sync complete":                      "as exp sync ping",
	"exp sync status":                        "as exp sync ping",
	"config-ssh --remove":                    "taking the section out again is our own",
}

func pages(t *testing.T) map[string]page {
	t.Helper()
	b, err := os.ReadFile("../../api/contract/cli.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]page
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// walk calls each with every command below c.
func walk(c *app.Command, each func(*app.Command)) {
	each(c)
	for _, s := range c.Subs {
		walk(s, each)
	}
}

func testApp() *app.Run {
	return app.New(strings.NewReader(""), &strings.Builder{}, &strings.Builder{}, nil, rootCommand)
}

func TestOptionsAreThoseOfTheContract(t *testing.T) {
	all := pages(t)
	walk(testApp().Root, func(c *app.Command) {
		name := strings.TrimPrefix(c.Path(), "coder ")
		p, ok := all[name]
		if !ok {
			if !c.Hidden && (c.Parent == nil || !c.Parent.Hidden) && beyond[name] == "" {
				t.Errorf("%s is not in the contract; hide it", name)
			}
			return
		}
		if got := strings.Join(c.Aliases, " "); got != strings.Join(p.Aliases, " ") {
			t.Errorf("%s has the aliases %q, want %q", name, got, p.Aliases)
		}
		if got, want := c.Usage(), p.Usage; ours[name] == "" && strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s has the usage\n  %s\nwant\n  %s", name, got, want)
		}
		declared := map[string]*option.Option{}
		for _, o := range c.Options {
			declared[o.Flag] = o
		}
		for _, want := range p.Options {
			letter, flag := "", strings.TrimPrefix(want.Flag, "--")
			if l, f, ok := strings.Cut(want.Flag, ", --"); ok {
				letter, flag = strings.TrimPrefix(l, "-"), f
			}
			o := declared[flag]
			delete(declared, flag)
			if o == nil {
				t.Errorf("%s lacks --%s", name, flag)
				continue
			}
			if _, skip := ours[name+" --"+flag]; skip {
				continue
			}
			kind := strings.ReplaceAll(want.Type, `\|`, "|")
			got := [...]string{o.Letter, o.Value.Kind, o.Variable, o.Key, o.Initial}
			if want := [...]string{letter, kind, strings.TrimPrefix(want.Env, "$"), want.YAML, want.Default}; got != want {
				t.Errorf("%s --%s is\n  %q\nwant\n  %q", name, flag, got, want)
			}
		}
		for flag, o := range declared {
			if !o.Hidden && beyond[name+" --"+flag] == "" {
				t.Errorf("%s --%s is not in the contract; hide it", name, flag)
			}
		}
	})
}

func TestServerHasAllItsOptions(t *testing.T) {
	if n := len(pages(t)["server"].Options); n != 189 {
		t.Errorf("the contract has %d options of the server", n)
	}
}

func TestDefaultsCanBeRead(t *testing.T) {
	walk(testApp().Root, func(c *app.Command) {
		for _, o := range c.Options {
			if err := o.PreParse(); err != nil {
				t.Errorf("%s: %v", c.Path(), err)
			}
		}
	})
}

func TestNoFlagIsDeclaredTwice(t *testing.T) {
	walk(testApp().Root, func(c *app.Command) {
		seen := map[string]bool{"help": true, "h": true}
		for _, o := range c.Options {
			for _, n := range o.Names() {
				if seen[n] {
					t.Errorf("%s declares %s twice", c.Path(), n)
				}
				seen[n] = true
			}
		}
	})
}
