// Command terraform-provider-kubernetes is HashiCorp's provider for tests. It
// is version 1.13, the newest that is available as a Go module, with the newer
// features that the template `kubernetes` uses. Newer versions give every
// resource a second name that ends in _v1, read a configuration file only if
// told to, support seccomp_profile, and take limits and requests as maps. The
// script `build` adds the latter two.
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
