// Package provisionerhealth judges provisioners for the health report, the CLI and the
// API: whether one is connected, and whether its versions match the server.
package provisionerhealth

import (
	"fmt"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Missing returns the warning that no provisioner is connected.
func Missing() codersdk.HealthMessage {
	return codersdk.HealthMessage{
		Code:    codersdk.HealthCodeNoProvisioners,
		Message: "No provisioner is connected, so builds and template imports wait. Start one: coder provisioner start",
	}
}

// Warnings returns warnings about the versions of a provisioner, nil if
// there are none. Major and minor version of the program should match the server,
// and protocol version 1.0 is deprecated. Versions that cannot be compared cause
// no warning.
func Warnings(d codersdk.ProvisionerDaemon, serverVersion string) []codersdk.HealthMessage {
	var out []codersdk.HealthMessage
	if !codersdk.SameRelease(d.Version, serverVersion) {
		out = append(out, codersdk.HealthMessage{
			Code: codersdk.HealthCodeProvisionerVersion,
			Message: fmt.Sprintf("The provisioner has version %s and the server has %s, so builds may differ. Use a provisioner of the server's version.",
				d.Version, serverVersion),
		})
	}
	if d.APIVersion == "1.0" {
		out = append(out, codersdk.HealthMessage{
			Code: codersdk.HealthCodeProvisionerAPIDeprecated,
			Message: fmt.Sprintf("The provisioner uses the deprecated protocol %s. Use a provisioner of the server's version, which uses %s.",
				d.APIVersion, codersdk.ProvisionerAPIVersion),
		})
	}
	return out
}
