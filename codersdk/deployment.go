package codersdk

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// BuildInfoResponse describes the server's version and address.
type BuildInfoResponse struct {
	AgentAPIVersion       string `json:"agent_api_version"`
	DashboardURL          string `json:"dashboard_url"`
	DeploymentID          string `json:"deployment_id"`
	ExternalURL           string `json:"external_url"`
	ProvisionerAPIVersion string `json:"provisioner_api_version"`
	Telemetry             bool   `json:"telemetry"`
	UpgradeMessage        string `json:"upgrade_message"`
	Version               string `json:"version"`
	WebpushPublicKey      string `json:"webpush_public_key"`
	WorkspaceProxy        bool   `json:"workspace_proxy"`
}

// SSHConfigResponse holds the server's settings for a client's SSH configuration.
type SSHConfigResponse struct {
	HostnamePrefix   string            `json:"hostname_prefix"`
	HostnameSuffix   string            `json:"hostname_suffix"`
	SSHConfigOptions map[string]string `json:"ssh_config_options"`
}

// AvailableExperiments lists the experiments that the server can turn on.
type AvailableExperiments struct {
	Safe []string `json:"safe"`
}

// Entitlements lists the features of the server. Every feature is entitled.
type Entitlements struct {
	Errors           []string           `json:"errors"`
	Features         map[string]Feature `json:"features"`
	HasLicense       bool               `json:"has_license"`
	RefreshedAt      time.Time          `json:"refreshed_at"`
	RequireTelemetry bool               `json:"require_telemetry"`
	Trial            bool               `json:"trial"`
	Warnings         []string           `json:"warnings"`
}

// Entitlement is the license state of a feature.
type Entitlement string

// Values of Entitlement.
const (
	EntitlementEntitled    Entitlement = "entitled"
	EntitlementGracePeriod Entitlement = "grace_period"
	EntitlementNotEntitled Entitlement = "not_entitled"
)

// Feature is one feature and its limit.
type Feature struct {
	Actual      *int64      `json:"actual,omitempty"`
	Enabled     bool        `json:"enabled"`
	Entitlement Entitlement `json:"entitlement"`
	Limit       *int64      `json:"limit,omitempty"`
	SoftLimit   int64       `json:"soft_limit"`
}

// ServerSentEvent is one event of a stream.
type ServerSentEvent struct {
	Data json.RawMessage     `json:"data"`
	Type ServerSentEventType `json:"type"`
}

// ServerSentEventType is the kind of an event.
type ServerSentEventType string

// Values of ServerSentEventType.
const (
	ServerSentEventTypeData  ServerSentEventType = "data"
	ServerSentEventTypeError ServerSentEventType = "error"
	ServerSentEventTypePing  ServerSentEventType = "ping"
)

// Region is a server or workspace proxy through which clients reach workspaces.
type Region struct {
	DisplayName      string    `json:"display_name"`
	Healthy          bool      `json:"healthy"`
	IconURL          string    `json:"icon_url"`
	ID               uuid.UUID `json:"id"`
	Name             string    `json:"name"`
	PathAppURL       string    `json:"path_app_url"`
	WildcardHostname string    `json:"wildcard_hostname"`
}

// RegionsResponse lists the regions.
type RegionsResponse struct {
	Regions []Region `json:"regions"`
}

// AppearanceConfig is the branding of a deployment.
type AppearanceConfig struct {
	AnnouncementBanners []BannerConfig `json:"announcement_banners"`
	ApplicationName     string         `json:"application_name"`
	DocsURL             string         `json:"docs_url"`
	LogoURL             string         `json:"logo_url"`
	ServiceBanner       BannerConfig   `json:"service_banner"`
	SupportLinks        []LinkConfig   `json:"support_links"`
}

// BannerConfig is a line of text at the top of the dashboard.
type BannerConfig struct {
	BackgroundColor string `json:"background_color,omitempty"`
	Enabled         bool   `json:"enabled"`
	Message         string `json:"message,omitempty"`
}

// LinkConfig is a support link of the dashboard.
type LinkConfig struct {
	Icon     string `json:"icon"`
	Location string `json:"location,omitempty"`
	Name     string `json:"name"`
	Target   string `json:"target"`
}

// UpdateCheckResponse reports whether a newer release exists.
type UpdateCheckResponse struct {
	Current bool   `json:"current"`
	URL     string `json:"url"`
	Version string `json:"version"`
}

// ChangesRequest lists the topics that a client subscribes to: kinds of
// resources, such as "workspace", or single resources, "workspace/<id>". At
// most 64 topics are allowed.
type ChangesRequest struct {
	Topics []string `json:"topics"`
	// Ready requests one Change for each new topic as soon as the server listens to
	// it, because data that the client read before may be stale.
	Ready bool `json:"ready,omitempty"`
}

// Change reports that a resource of the topic changed, or may have changed.
type Change struct {
	Topic string `json:"topic"`
}
