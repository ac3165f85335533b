package codersdk

import (
	"time"

	"github.com/google/uuid"
)

// InsightsBreakdown is the usage and the costs of a period by day, organization,
// template and user. Costs count from the creation of a build, at the cost of the
// latest build of a workspace; the current day counts until now.
type InsightsBreakdown struct {
	StartDate string `json:"start_date"` // 2006-01-02
	EndDate   string `json:"end_date"`   // the last day
	Timezone  string `json:"timezone"`   // the time zone of the days, such as Europe/Berlin
	InsightsAmounts
	Days          []InsightsDay   `json:"days"`
	Organizations []InsightsShare `json:"organizations"` // at most 200: those with the most time or costs
	Templates     []InsightsShare `json:"templates"`     // the same
	Users         []InsightsShare `json:"users"`         // the same
}

// InsightsAmounts is usage and its costs.
type InsightsAmounts struct {
	ActiveUsers int64 `json:"active_users"`
	// ActiveSeconds is the time in which users had sessions or used apps. An hour of a
	// user counts once for each workspace.
	ActiveSeconds float64 `json:"active_seconds"`
	// Credits are the costs of workspaces: a workspace with a daily cost of 10 costs 10
	// credits in 24 hours.
	Credits float64 `json:"credits"`
}

// InsightsDay is the usage and the costs of a day.
type InsightsDay struct {
	Date string `json:"date"` // 2006-01-02
	InsightsAmounts
}

// InsightsShare is the usage and the costs of an organization, a template or a user.
type InsightsShare struct {
	ID          uuid.UUID `json:"id"`
	Name        string    `json:"name"`
	DisplayName string    `json:"display_name"`
	InsightsAmounts
}

// InsightsVersions lists which versions are in use.
type InsightsVersions struct {
	// TemplateVersions are those of running workspaces, the most used first.
	TemplateVersions []TemplateVersionUse `json:"template_versions"`
	Agents           []VersionUse         `json:"agents"` // connected agents
	// Clients counts the users of each version of the CLI, by the version that a user
	// used last to change something or to connect. Empty for a single template.
	Clients      []VersionUse `json:"clients"`
	ClientsSince time.Time    `json:"clients_since"`
}

// TemplateVersionUse is the number of running workspaces of a template version.
type TemplateVersionUse struct {
	OrganizationName string    `json:"organization_name"`
	TemplateID       uuid.UUID `json:"template_id"`
	TemplateName     string    `json:"template_name"`
	VersionID        uuid.UUID `json:"version_id"`
	VersionName      string    `json:"version_name"`
	Active           bool      `json:"active"` // the active version of the template
	CreatedAt        time.Time `json:"created_at"`
	Workspaces       int64     `json:"workspaces"`
}

// VersionUse is the number of uses of a version.
type VersionUse struct {
	Version string `json:"version"`
	Count   int64  `json:"count"`
}
