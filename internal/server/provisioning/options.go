package provisioning

import (
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Options declares the options of the group.
func (c *Config) Options() []*option.Option {
	return option.Under(
		"Provisioning",
		option.Int(&c.Daemons, "provisioner-daemons", "Number of built-in provisioners, each for one build at a time; 0 disables").
			Env("CODER_PROVISIONER_DAEMONS").
			YAML("provisioning.daemons").
			Def("3"),
		option.String(&c.PSK, "provisioner-daemon-psk", "Pre-shared key for external provisioners of all organizations").
			Env("CODER_PROVISIONER_DAEMON_PSK"),
		option.Duration(&c.ForceCancelInterval, "provisioner-force-cancel-interval", "Time for a canceled build to exit before it is killed").
			Env("CODER_PROVISIONER_FORCE_CANCEL_INTERVAL").
			YAML("provisioning.forceCancelInterval").
			Def("10m0s"),
		option.Duration(new(time.Duration), "provisioner-daemon-poll-interval", "Ignored, for compatibility (the server pushes jobs)").
			Env("CODER_PROVISIONER_DAEMON_POLL_INTERVAL").
			YAML("provisioning.daemonPollInterval").
			Def("1s"),
		option.Duration(new(time.Duration), "provisioner-daemon-poll-jitter", "Ignored, for compatibility (the server pushes jobs)").
			Env("CODER_PROVISIONER_DAEMON_POLL_JITTER").
			YAML("provisioning.daemonPollJitter").
			Def("100ms"),
		option.List(&c.Engines, "provisioner-types", "Types of the built-in provisioners: terraform, echo").Env("CODER_PROVISIONER_TYPES").Def("terraform").Hide(),
	)
}
