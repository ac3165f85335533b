package coder

import (
	"time"

	"github.com/google/uuid"
)

// DAUsResponse says how many people worked on each day.
type DAUsResponse struct {
	Entries      []DAUEntry `json:"entries"`
	TZHourOffset int        `json:"tz_hour_offset"` // hours that days begin before those of UTC
}

// DAUEntry is one day.
type DAUEntry struct {
	Amount int64  `json:"amount"`
	Date   string `json:"date"` // 2006-01-02
}

// InsightsReportInterval is what a report is divided into.
type InsightsReportInterval string

// Values of InsightsReportInterval.
const (
	InsightsReportIntervalDay  InsightsReportInterval = "day"
	InsightsReportIntervalWeek InsightsReportInterval = "week"
)

// TemplateInsightsResponse says how templates are used.
type TemplateInsightsResponse struct {
	IntervalReports []TemplateInsightsIntervalReport `json:"interval_reports"`
	Report          TemplateInsightsReport           `json:"report"`
}

// TemplateInsightsIntervalReport is one day or week of it.
type TemplateInsightsIntervalReport struct {
	ActiveUsers int64                  `json:"active_users"`
	EndTime     time.Time              `json:"end_time"`
	Interval    InsightsReportInterval `json:"interval"`
	StartTime   time.Time              `json:"start_time"`
	TemplateIDs []uuid.UUID            `json:"template_ids"`
}

// TemplateInsightsReport is all of it.
type TemplateInsightsReport struct {
	ActiveUsers     int64                    `json:"active_users"`
	AppsUsage       []TemplateAppUsage       `json:"apps_usage"`
	EndTime         time.Time                `json:"end_time"`
	ParametersUsage []TemplateParameterUsage `json:"parameters_usage"`
	StartTime       time.Time                `json:"start_time"`
	TemplateIDs     []uuid.UUID              `json:"template_ids"`
}

// TemplateAppsType says whether a way into workspaces comes with the platform
// or with a template.
type TemplateAppsType string

// Values of TemplateAppsType.
const (
	TemplateAppsTypeBuiltin TemplateAppsType = "builtin"
	TemplateAppsTypeApp     TemplateAppsType = "app"
)

// TemplateAppUsage is how long an app was in use.
type TemplateAppUsage struct {
	DisplayName string           `json:"display_name"`
	Icon        string           `json:"icon"`
	Seconds     int64            `json:"seconds"`
	Slug        string           `json:"slug"`
	TemplateIDs []uuid.UUID      `json:"template_ids"`
	TimesUsed   int64            `json:"times_used"` // of what is built in: people who used it
	Type        TemplateAppsType `json:"type"`
}

// TemplateParameterUsage is which values of a parameter workspaces have.
type TemplateParameterUsage struct {
	Description string                           `json:"description"`
	DisplayName string                           `json:"display_name"`
	Name        string                           `json:"name"`
	Options     []TemplateVersionParameterOption `json:"options"`
	TemplateIDs []uuid.UUID                      `json:"template_ids"`
	Type        string                           `json:"type"`
	Values      []TemplateParameterValue         `json:"values"`
}

// TemplateParameterValue is how many workspaces have a value.
type TemplateParameterValue struct {
	Count int64  `json:"count"`
	Value string `json:"value"`
}

// UserActivityInsightsResponse says how long people worked.
type UserActivityInsightsResponse struct {
	Report UserActivityInsightsReport `json:"report"`
}

// UserActivityInsightsReport lists people, the busiest first.
type UserActivityInsightsReport struct {
	EndTime     time.Time      `json:"end_time"`
	StartTime   time.Time      `json:"start_time"`
	TemplateIDs []uuid.UUID    `json:"template_ids"`
	Users       []UserActivity `json:"users"`
}

// UserActivity is how long somebody worked.
type UserActivity struct {
	AvatarURL   string      `json:"avatar_url"`
	Seconds     int64       `json:"seconds"`
	TemplateIDs []uuid.UUID `json:"template_ids"`
	UserID      uuid.UUID   `json:"user_id"`
	Username    string      `json:"username"`
}

// UserLatencyInsightsResponse says how far people are from their workspaces.
type UserLatencyInsightsResponse struct {
	Report UserLatencyInsightsReport `json:"report"`
}

// UserLatencyInsightsReport lists people by name.
type UserLatencyInsightsReport struct {
	EndTime     time.Time     `json:"end_time"`
	StartTime   time.Time     `json:"start_time"`
	TemplateIDs []uuid.UUID   `json:"template_ids"`
	Users       []UserLatency `json:"users"`
}

// UserLatency is what round trips of somebody took.
type UserLatency struct {
	AvatarURL   string            `json:"avatar_url"`
	LatencyMS   ConnectionLatency `json:"latency_ms"`
	TemplateIDs []uuid.UUID       `json:"template_ids"`
	UserID      uuid.UUID         `json:"user_id"`
	Username    string            `json:"username"`
}

// GetUserStatusCountsResponse says how many users of each status there were.
type GetUserStatusCountsResponse struct {
	StatusCounts map[UserStatus][]UserStatusChangeCount `json:"status_counts"`
}

// UserStatusChangeCount is the number at the end of a day.
type UserStatusChangeCount struct {
	Count int64     `json:"count"`
	Date  time.Time `json:"date"`
}
