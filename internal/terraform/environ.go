package terraform

import (
	"maps"
	"slices"
	"strings"
)

// maxEnv is the longest value in Terraform's own environment; the kernel
// refuses 128 KiB. The provider receives longer ones, too.
const maxEnv = 96 << 10

// environ returns the whole environment of one Terraform command: the daemon's,
// the workspace's, and settings that make Terraform quiet, non-interactive and
// attached to the provider.
func (s *session) environ() []string {
	own := map[string]string{
		"CHECKPOINT_DISABLE":    "1",
		"TF_IN_AUTOMATION":      "1",
		"TF_INPUT":              "0",
		"NO_COLOR":              "1",
		"TF_REATTACH_PROVIDERS": s.provider.reattach,
	}
	for k, v := range s.workspace {
		if len(v) <= maxEnv {
			own[k] = v
		}
	}
	if s.config.GetProvisionerLogLevel() == "debug" || s.config.GetProvisionerLogLevel() == "trace" {
		own["TF_LOG"] = strings.ToUpper(s.config.GetProvisionerLogLevel())
	}
	var env []string
	for _, kv := range s.engine.baseEnv() {
		if name, _, _ := strings.Cut(kv, "="); own[name] == "" {
			env = append(env, kv)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(own)) {
		env = append(env, k+"="+own[k])
	}
	return append(env, s.extra...)
}
