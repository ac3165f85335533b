package codersdk

// HealthMessage is a warning or an error of the health report.
type HealthMessage struct {
	Code    HealthCode `json:"code"`
	Message string     `json:"message"`
}

// HealthCode identifies a kind of HealthMessage.
type HealthCode string

// Values of HealthCode about provisioners. (PRV-28)
const (
	HealthCodeNoProvisioners           HealthCode = "EPD01"
	HealthCodeProvisionerVersion       HealthCode = "EPD02"
	HealthCodeProvisionerAPIDeprecated HealthCode = "EPD03"
)
