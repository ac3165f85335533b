// Command terraform-provider-kubernetes is HashiCorp's provider for tests: the
// newest version that can be had as a Go module, 1.13, with what the template
// `kubernetes` uses of later ones. Those give every resource a second name that
// ends with _v1, look for a configuration file only when they are told to, know
// seccomp_profile, and take limits and requests as maps; the script `build` puts
// the latter two in.
package main

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-sdk/helper/schema"
	"github.com/hashicorp/terraform-plugin-sdk/plugin"
	"github.com/hashicorp/terraform-plugin-sdk/terraform"
	"github.com/hashicorp/terraform-provider-kubernetes/kubernetes"
)

func main() {
	plugin.Serve(&plugin.ServeOpts{ProviderFunc: provider})
}

func provider() terraform.ResourceProvider {
	p := kubernetes.Provider().(*schema.Provider)
	again := map[string]*schema.Resource{}
	for name, r := range p.ResourcesMap {
		again[name] = r
		if !strings.HasSuffix(name, "_v1") {
			again[name+"_v1"] = r
		}
	}
	p.ResourcesMap = again
	p.Schema["config_path"].DefaultFunc = nil
	return p
}
