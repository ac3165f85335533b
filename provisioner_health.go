package coder

import (
	"fmt"
	"strconv"
	"strings"
)

// HealthMessage is something that is not as it should be.
type HealthMessage struct {
	Code    HealthCode `json:"code"`
	Message string     `json:"message"`
}

// HealthCode names a kind of HealthMessage.
type HealthCode string

// Values of HealthCode that are about provisioners. (PRV-28)
const (
	HealthCodeNoProvisioners           HealthCode = "EPD01"
	HealthCodeProvisionerVersion       HealthCode = "EPD02"
	HealthCodeProvisionerAPIDeprecated HealthCode = "EPD03"
)

// NoProvisioners says that no provisioner is there.
func NoProvisioners() HealthMessage {
	return HealthMessage{HealthCodeNoProvisioners, "No provisioner is connected: builds and template imports wait until one is. Start one: coder provisioner start"}
}

// ProvisionerWarnings says what is wrong with the versions of a provisioner: of
// the program, whose major and minor number should be the server's, and of the
// wire, whose version 1.0 is served for old provisioners only. It is nil when
// nothing is. A version that is no release, such as that of a build by hand,
// is not compared.
func ProvisionerWarnings(d ProvisionerDaemon, serverVersion string) []HealthMessage {
	var out []HealthMessage
	has, ok1 := release(d.Version)
	wants, ok2 := release(serverVersion)
	if ok1 && ok2 && has != wants {
		out = append(out, HealthMessage{HealthCodeProvisionerVersion,
			fmt.Sprintf("The provisioner is of version %s and the server of %s: use the server's, as builds may differ.", d.Version, serverVersion)})
	}
	if d.APIVersion == "1.0" {
		out = append(out, HealthMessage{HealthCodeProvisionerAPIDeprecated,
			fmt.Sprintf("The provisioner speaks protocol %s, which is deprecated: use one of the server's version, which speaks %s.", d.APIVersion, ProvisionerAPIVersion)})
	}
	return out
}

// release gives the major and minor number of a version such as v2.30.1.
func release(version string) (numbers [2]uint64, ok bool) {
	version, ok = strings.CutPrefix(version, "v")
	parts := strings.SplitN(version, ".", 3)
	if !ok || len(parts) != 3 {
		return numbers, false
	}
	for i := range numbers {
		n, err := strconv.ParseUint(parts[i], 10, 32)
		if err != nil {
			return numbers, false
		}
		numbers[i] = n
	}
	return numbers, numbers != [2]uint64{}
}
