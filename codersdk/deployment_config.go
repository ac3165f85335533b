package codersdk

import (
	"time"

	"github.com/google/uuid"
)

// DeploymentConfig is the configuration of the server, without secrets.
type DeploymentConfig struct {
	// Config holds the values by their contract names; durations are in
	// nanoseconds.
	Config map[string]any `json:"config"`
	// Options lists all options of the command line and the source of each value.
	Options []DeploymentOption `json:"options"`
}

// DeploymentOption is one option of the server.
type DeploymentOption struct {
	Annotations   map[string]string     `json:"annotations"` // "secret": "true" marks an option whose value is never shown
	Default       string                `json:"default"`
	Description   string                `json:"description"`
	Env           string                `json:"env"`
	Flag          string                `json:"flag"`
	FlagShorthand string                `json:"flag_shorthand"`
	Group         DeploymentOptionGroup `json:"group"`
	Hidden        bool                  `json:"hidden"`
	Kind          string                `json:"kind"` // of the value: bool, int, duration, string, string-array, url, ...
	Name          string                `json:"name"`
	Required      bool                  `json:"required"`
	UseInstead    []DeploymentOption    `json:"use_instead"`
	Value         any                   `json:"value"` // durations in nanoseconds
	ValueSource   ValueSource           `json:"value_source"`
	YAML          string                `json:"yaml"`
}

// DeploymentOptionGroup is the heading under which an option is listed.
type DeploymentOptionGroup struct {
	Description string                 `json:"description"`
	Name        string                 `json:"name"`
	Parent      *DeploymentOptionGroup `json:"parent,omitempty"`
	YAML        string                 `json:"yaml"`
}

// ValueSource is the source of an option's value.
type ValueSource string

// Values of ValueSource.
const (
	ValueSourceNone    ValueSource = ""
	ValueSourceDefault ValueSource = "default"
	ValueSourceEnv     ValueSource = "env"
	ValueSourceFlag    ValueSource = "flag"
	ValueSourceYAML    ValueSource = "yaml"
)

// DeploymentStats are usage figures of the deployment.
type DeploymentStats struct {
	AggregatedFrom time.Time                `json:"aggregated_from"`
	CollectedAt    time.Time                `json:"collected_at"`
	NextUpdateAt   time.Time                `json:"next_update_at"`
	SessionCount   SessionCounts            `json:"session_count"`
	Workspaces     WorkspaceDeploymentStats `json:"workspaces"`
}

// SessionCounts counts the open sessions by kind.
type SessionCounts struct {
	JetBrains       int64 `json:"jetbrains"`
	ReconnectingPTY int64 `json:"reconnecting_pty"`
	SSH             int64 `json:"ssh"`
	VSCode          int64 `json:"vscode"`
}

// WorkspaceDeploymentStats counts workspaces by status. The traffic figures cover
// the period of the statistics.
type WorkspaceDeploymentStats struct {
	Building            int64                      `json:"building"`
	ConnectionLatencyMS WorkspaceConnectionLatency `json:"connection_latency_ms"`
	Failed              int64                      `json:"failed"`
	Pending             int64                      `json:"pending"`
	Running             int64                      `json:"running"`
	RxBytes             int64                      `json:"rx_bytes"`
	Stopped             int64                      `json:"stopped"`
	TxBytes             int64                      `json:"tx_bytes"`
}

// WorkspaceConnectionLatency is the median and the 95th percentile of the round
// trip time to workspaces, in milliseconds. Clients read capitalized field names.
type WorkspaceConnectionLatency struct {
	P50 float64 `json:"P50"`
	P95 float64 `json:"P95"`
}

// ConnectionLatency is the median and the 95th percentile of a user's round
// trip time to their workspaces, in milliseconds.
type ConnectionLatency struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
}

// UpdateAppearanceConfig changes the branding of the deployment.
type UpdateAppearanceConfig struct {
	AnnouncementBanners []BannerConfig `json:"announcement_banners"`
	ApplicationName     string         `json:"application_name"`
	LogoURL             string         `json:"logo_url"`
	// ServiceBanner is the single banner of older clients. It is used when there
	// are no announcement banners.
	ServiceBanner BannerConfig `json:"service_banner"`
}

// Replica is one of the servers that share the database.
type Replica struct {
	CreatedAt       time.Time `json:"created_at"`
	DatabaseLatency int64     `json:"database_latency"` // nanoseconds, measured by the answering replica; 0 for the others
	Error           string    `json:"error"`
	Hostname        string    `json:"hostname"`
	ID              uuid.UUID `json:"id"`
	RegionID        int64     `json:"region_id"`
	RelayAddress    string    `json:"relay_address"`
}

// CSPViolation is a browser's report about a violation of the content security policy.
type CSPViolation struct {
	Report map[string]any `json:"csp-report"`
}
