// Package contracttest loads the contract of the REST API for tests: the
// endpoints and the schemas of their JSON. It also checks responses against the
// contract.
package contracttest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-2a7f8fe7/coder/api/contract"
)

// Contract is the content of http-api.json: the endpoints and the schemas by name.
type Contract struct {
	Endpoints []Endpoint
	Schemas   map[string]Schema
}

// Endpoint is a method of a path.
type Endpoint struct {
	Area, Method, Path string
	Params             []struct {
		Name, In, Type string
		Required       bool
	}
	Responses []struct {
		Status int
		Schema string
	}
}

// Schema describes a type: Fields of an object, Enum values, or Form, a
// description in words such as "string ...".
type Schema struct {
	Form   string
	Fields map[string]struct {
		Type     string
		Required bool
	}
	Enum map[string][]string
}

var readContract = sync.OnceValues(func() (c Contract, err error) {
	b, err := contract.Files.ReadFile("http-api.json")
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	return c, err
})

// Load returns the contract.
func Load(t testing.TB) Contract {
	t.Helper()
	c, err := readContract()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Call is a request of a released client with the status codes that the client
// accepts as success. Path begins with /api or another root, and {} stands for a
// value.
type Call struct {
	Method, Path string
	Accepts      []int
}

var readCalls = sync.OnceValues(func() (calls []Call, err error) {
	b, err := contract.Files.ReadFile("sdk-statuses.json")
	var file struct{ Calls []Call }
	if err == nil {
		err = json.Unmarshal(b, &file)
	}
	return file.Calls, err
})

// SDKCalls returns the calls of the public Go SDK, from sdk-statuses.json.
func SDKCalls(t testing.TB) []Call {
	t.Helper()
	calls, err := readCalls()
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

var pathParameter = regexp.MustCompile(`\{[^}]*\}`)

// Shape returns the method and the path with {} for each path parameter, so that
// paths whose parameters have different names compare equal.
func Shape(method, path string) string {
	return method + " " + strings.ReplaceAll(pathParameter.ReplaceAllString(strings.ReplaceAll(path, "{$}", ""), "{}"), "//", "/")
}

// Conforms checks v, decoded JSON of a real response, against the named type of
// the contract. Every field must be present and have the right type. Only the
// fields of NotInAnswers and optionalFields can be absent or null. Conforms returns
// a message for each difference; at is the path of v in the response.
func (c Contract) Conforms(name string, v any, at string) (out []string) {
	wrong := []string{fmt.Sprintf("%s is %T, the contract requires %s", at, v, name)}
	is := func(ok bool) []string {
		if ok {
			return nil
		}
		return wrong
	}
	if fits, basic := checkBasicType(name, v); basic {
		return is(fits)
	}
	if element, ok := strings.CutPrefix(name, "array of "); ok {
		list, ok := v.([]any)
		if _, one := v.(map[string]any); one && slices.Contains(Single(), element) {
			return c.Conforms(element, v, at)
		}
		if !ok {
			return wrong
		}
		for i, x := range list {
			out = append(out, c.Conforms(element, x, fmt.Sprintf("%s[%d]", at, i))...)
		}
		return out
	}
	if element, ok := MapOf(name); ok {
		entries, ok := v.(map[string]any)
		for k, x := range entries {
			out = append(out, c.Conforms(element, x, at+"."+k)...)
		}
		return append(out, is(ok)...)
	}
	s := c.Schemas[name]
	switch {
	case strings.HasPrefix(s.Form, "string"):
		return c.Conforms("string", v, at)
	case strings.Contains(s.Form, "an array"):
		_, ok := v.([]any)
		return is(ok)
	case len(s.Fields) == 0:
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return wrong
	}
	for f, want := range s.Fields {
		x, ok := m[f]
		switch {
		case f == "[any property]":
			for k, x := range m {
				out = append(out, c.Conforms(want.Type, x, at+"."+k)...)
			}
		case strings.Contains(f, "[any property]"): // a property of one of the fields
		case x == nil && (slices.Contains(NotInAnswers()[name], f) || slices.Contains(optionalFields()[name], f)):
		case !ok:
			out = append(out, at+" lacks "+f)
		default:
			out = append(out, c.Conforms(want.Type, x, at+"."+f)...)
		}
	}
	return out
}

// checkBasicType reports whether name is a basic type, and if so, whether v fits it.
func checkBasicType(name string, v any) (fits, basic bool) {
	switch name {
	case "", "any":
		return true, true
	case "string":
		_, fits = v.(string)
	case "boolean":
		_, fits = v.(bool)
	case "integer":
		var f float64
		f, fits = v.(float64)
		fits = fits && f == float64(int64(f))
	case "number":
		_, fits = v.(float64)
	case "object":
		_, fits = v.(map[string]any)
	default:
		return false, false
	}
	return fits, true
}

// MapOf returns the element type of a map type such as "object: id -> string". ok
// is false if name is not a map type.
func MapOf(name string) (element string, ok bool) {
	if !strings.HasPrefix(name, "object: ") {
		return "", false
	}
	_, element, ok = strings.Cut(name, " -> ")
	return element, ok
}

// NotInAnswers returns, by schema, the fields of the contract that responses of
// this server omit because the fields do not apply to it.
func NotInAnswers() map[string][]string {
	return map[string][]string{
		"Feature":         {"usage_period"},                     // for metered features; this server has none
		"tailcfg.DERPMap": {"homeParams", "omitDefaultRegions"}, // for a mesh of relays; this server has none
	}
}

// Single returns the types for which the contract wrongly documents an array where
// the response is a single object.
func Single() []string {
	return []string{
		"PaginatedMembersResponse",
		"ACLAvailable",
		"TemplateVersion",
		"Role",
		"UserQuietHoursScheduleResponse",
		"RegionsResponse-codersdk_WorkspaceProxy",
		"OAuth2ProviderAppSecretFull",
	}
}

// optionalFields returns, by schema, the fields that responses omit when they have
// no value.
func optionalFields() map[string][]string {
	return map[string][]string{
		"AuditLog":                          {"organization", "user"},
		"BannerConfig":                      {"background_color", "message"},
		"Feature":                           {"actual", "limit"},
		"GroupSyncSettings":                 {"legacy_group_name_mapping", "mapping", "regex_filter"},
		"RoleSyncSettings":                  {"mapping"},
		"OrganizationSyncSettings":          {"mapping"},
		"OAuth2AuthorizationServerMetadata": {"registration_endpoint"},
		"OAuth2ProviderAppSecret":           {"last_used_at"},
		"MatchedProvisioners":               {"most_recently_seen"},
		"PreviewParameterValidation":        {"validation_max", "validation_min"},
		"ProvisionerDaemon":                 {"current_job", "previous_job", "last_seen_at"},
		"ProvisionerJob":                    {"canceled_at", "completed_at", "started_at", "worker_id", "worker_name", "error", "error_code"},
		"ProvisionerJobInput":               {"workspace_build_id", "template_version_id", "error"},
		"ProvisionerJobMetadata":            {"workspace_id", "workspace_name", "workspace_build_transition", "template_id"},
		"Response":                          {"detail", "validations"},
		"TemplateVersion":                   {"matched_provisioners", "template_id"},
		"TransitionStats":                   {"P50", "P95"},
		"Workspace":                         {"autostart_schedule", "deleting_at", "dormant_at", "latest_app_status", "next_start_at", "task_id", "ttl_ms"},
		"WorkspaceAgent":                    {"disconnected_at", "first_connected_at", "last_connected_at", "parent_id", "ready_at", "started_at"},
		"WorkspaceBuild":                    {"deadline", "matched_provisioners", "max_deadline", "template_version_preset_id", "has_ai_task", "has_external_agent"},
		"serpent.Group":                     {"parent"},
	}
}
