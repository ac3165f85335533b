package cli

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
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
	"tokens remove":                         "--delete is of newer versions",
}

// beyond are commands and flags that the contract does not have, each with its
// reason; whatever else it does not have is hidden.
var beyond = map[string]string{
	"state push --force":                          "a state of another workspace is refused",
	"agent --agent-name":                          "newer agents on instances with several agents use it",
	"external-auth access-token --agent-name":     "scripts of newer clients use it",
	"state push --yes":                            "replacing a state asks first",
	"organizations settings show rules":           "rules of organizations are our own",
	"organizations settings set rules":            "rules of organizations are our own",
	"users create --service-account":              "scripts of newer clients use it",
	"users create --service-account-owner":        "limits of service accounts are our own",
	"users create --service-account-expires-in":   "limits of service accounts are our own",
	"users create --service-account-scope":        "limits of service accounts are our own",
	"users list --service-accounts":               "the filter is our own",
	"mirror":                                      "the provider mirror is our own",
	"mirror list":                                 "the provider mirror is our own",
	"mirror pull":                                 "the provider mirror is our own",
	"mirror export":                               "the provider mirror is our own",
	"mirror import":                               "the provider mirror is our own",
	"mirror publish":                              "the provider mirror is our own",
	"mirror remove":                               "the provider mirror is our own",
	"server --mirror":                             "the provider mirror is our own",
	"server --mirror-upstreams":                   "the provider mirror is our own",
	"server --mirror-max-bytes":                   "the provider mirror is our own",
	"git":                                         "clones that are faster are our own",
	"git clone":                                   "clones that are faster are our own",
	"server --git-mirror":                         "clones that are faster are our own",
	"server --git-mirror-max-bytes":               "clones that are faster are our own",
	"server --workspace-plans-ahead":              "plans ahead are our own",
	"schedule explain":                            "why a workspace stops is our own",
	"provisioner jobs explain":                    "why a job waits is our own",
	"provisioner queue":                           "the queue by tag set is our own",
	"secret":                                      "later versions than the contract have user secrets",
	"secret create":                               "later versions than the contract have user secrets",
	"secret update":                               "later versions than the contract have user secrets",
	"secret import":                               "later versions than the contract have user secrets",
	"secret enable":                               "later versions than the contract have user secrets",
	"secret disable":                              "later versions than the contract have user secrets",
	"secret list":                                 "later versions than the contract have user secrets",
	"secret delete":                               "later versions than the contract have user secrets",
	"oauth2-provider":                             "later versions than the contract have the OAuth2 provider",
	"oauth2-provider dcr":                         "as oauth2-provider",
	"oauth2-provider dcr enable":                  "as oauth2-provider",
	"oauth2-provider dcr disable":                 "as oauth2-provider",
	"oauth2-provider grants":                      "the applications that act for a user are listed by an endpoint of our own",
	"oauth2-provider grants list":                 "as oauth2-provider grants",
	"oauth2-provider grants revoke":               "as oauth2-provider grants",
	"sharing":                                     "scripts use it, so users may find it in the help",
	"sharing share":                               "as sharing",
	"sharing remove":                              "as sharing",
	"sharing status":                              "as sharing",
	"organizations edit":                          "weights are our own",
	"templates edit --max-concurrent-builds":      "caps of builds are our own",
	"templates edit --prebuild-budget":            "prebuilds by demand are our own",
	"templates edit --disable-user-secrets":       "later versions than the contract have user secrets",
	"provisioner keys rotate":                     "keys that overlap are our own",
	"provisioner keys create --expires-in":        "keys that end are our own",
	"provisioner start --concurrency":             "slots are our own",
	"provisioner start --terraform-binary":        "OpenTofu is our own",
	"provisioner start --cache-size":              "the cache has a limit of our own",
	"provisioner start --slot-memory":             "limits of a slot are our own",
	"provisioner start --slot-cpus":               "limits of a slot are our own",
	"provisioner start --trace":                   "the traces of provisioners are our own",
	"provisioner start --trace-logs":              "as provisioner start --trace",
	"provisioner start --trace-honeycomb-api-key": "as provisioner start --trace",
	"wsproxy":                                     "the contract has the endpoints of proxies, and lost the pages",
	"wsproxy server":                              "the contract has the endpoints of proxies, and lost the pages",
	"wsproxy create":                              "the contract has the endpoints of proxies, and lost the pages",
	"wsproxy list":                                "the contract has the endpoints of proxies, and lost the pages",
	"wsproxy edit":                                "the contract has the endpoints of proxies, and lost the pages",
	"wsproxy regenerate-token":                    "the contract has the endpoints of proxies, and lost the pages",
	"wsproxy delete":                              "the contract has the endpoints of proxies, and lost the pages",
	"exp sync ping":                               "known from guides, which have no pages of commands",
	"exp sync want":                               "as exp sync ping",
	"exp sync start":                              "as exp sync ping",
	"exp sync complete":                           "as exp sync ping",
	"exp sync status":                             "as exp sync ping",
	"exp scaletest create-workspaces":             "known from guides, which have no pages of commands",
	"exp scaletest workspace-traffic":             "as exp scaletest create-workspaces",
	"exp scaletest workspace-updates":             "as exp scaletest create-workspaces",
	"exp scaletest dashboard":                     "as exp scaletest create-workspaces",
	"exp scaletest cleanup":                       "as exp scaletest create-workspaces",
	"exp mcp server":                              "as exp sync ping",
	"exp mcp configure":                           "as exp sync ping",
	"exp mcp configure claude-code":               "as exp sync ping",
	"exp mcp configure claude-desktop":            "as exp sync ping",
	"exp mcp configure cursor":                    "as exp sync ping",
	"server --disable-user-secret-file-path":      "later versions than the contract have user secrets",
	"server --oauth2-provider-enable":             "the OAuth2 provider of newer versions",
	"server --sleeping-session-memory":            "sessions that survive sleep are our own",
	"server --sleeping-session-limit":             "sessions that survive sleep are our own",
	"server --drain-period":                       "a stop that waits for other replicas is our own",
	"server --update-check-url":                   "the releases of this project are where its operator says",
	"server --provisioner-job-logs-retention":     "the contract keeps logs of jobs for ever",
	"server --build-timings-retention":            "the contract keeps timings for ever",
	"tokens remove --delete":                      "the contract is of before tokens are expired",
	"support bundle --workspace-file":             "newer editors pass it; the contract is of before",
	"config-ssh --remove":                         "taking the section out again is our own",
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
func walk(c *command.Command, each func(*command.Command)) {
	each(c)
	for _, s := range c.Subs {
		walk(s, each)
	}
}

func testApp() *command.Run {
	return command.New(command.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, nil, rootCommand)
}

func TestOptionsAreThoseOfTheContract(t *testing.T) {
	all := pages(t)
	walk(testApp().Root, func(c *command.Command) {
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
	walk(testApp().Root, func(c *command.Command) {
		for _, o := range c.Options {
			if err := o.PreParse(); err != nil {
				t.Errorf("%s: %v", c.Path(), err)
			}
		}
	})
}

func TestNoFlagIsDeclaredTwice(t *testing.T) {
	walk(testApp().Root, func(c *command.Command) {
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
