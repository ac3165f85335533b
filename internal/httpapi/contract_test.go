package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/contracttest"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// contract is http-api.json with what compares it to Go's types.
type contract struct{ contracttest.Contract }

func theContract(t *testing.T) contract {
	t.Helper()
	return contract{contracttest.Load(t)}
}

var pathParameter = regexp.MustCompile(`\{[^}]*\}`)

func shape(method, path string) string { return contracttest.Shape(method, path) }

// ours are routes that we add to the contract, or that it speaks of elsewhere.
var ours = []string{
	"GET /debug/ws",
	"GET /external-auth/{}/callback", // served at the same path without the prefix, too
	"GET /notifications/queue",
	"POST /users/{}/webpush/subscription", // in the calls of the SDK; the contract has the bodies alone
	"DELETE /users/{}/webpush/subscription",
	"POST /users/{}/webpush/test",
	"GET /users/{}/notifications/digest",
	"PUT /users/{}/notifications/digest",
	"GET /users/{}/secrets", // of later versions than that of the contract
	"POST /users/{}/secrets",
	"POST /users/{}/secrets/batch",
	"GET /users/{}/secrets/{}",
	"PATCH /users/{}/secrets/{}",
	"DELETE /users/{}/secrets/{}",
	"GET /oauth2-provider/grants",   // the consents of the user
	"GET /oauth2-provider/settings", // newer than the contract
	"PUT /oauth2-provider/settings",
	"POST /notifications/queue/{}/retry",
	"GET /debug/logs", // what support bundles read of the server that answers
	"GET /debug/metrics",
	"GET /debug/pprof",
	"GET /debug/support-bundle",
	"GET /replicas/debug/{}",
	"GET /insights/breakdown",
	"GET /insights/versions",
	"GET /debug/health/history",
	"GET /workspaceagents/connection", // the SDK and Coder Desktop call it; the contract leaves it out
	"POST /applications/reconnecting-pty-signed-token",
	"GET /organizations/{}/provisionerjobs/{}/explain",
	"GET /organizations/{}/provisionerqueue",
	"GET /templates/{}/prebuilds",
	"GET /mirror",
	"DELETE /mirror/modules/{}/{}/{}/{}/{}",
	"POST /mirror/modules/{}/{}/{}/{}/{}",
	"GET /mirror/modules/{}/{}/{}/{}/versions",
	"GET /mirror/modules/{}/{}/{}/{}/{}/{}",
	"GET /mirror/providers/{}/{}/{}/{}",
	"GET /mirror/releases/{}/{}/{}",
	"GET /mirror/packages",
	"POST /mirror/packages",
	"GET /mirror/needs",
	"GET /mirror/archive",
	"POST /mirror/archive",
	"GET /templates/summaries",
	"GET /templates/modules",
	"POST /templates/compose",
	"POST /templates/format",
	"POST /organizations/{}/templates/check",
	"POST /organizations/{}/provisionerkeys/{}/rotate",
	"GET /changes",
	"POST /workspaceproxies/me/register", // what proxies call, of which the contract has the bodies alone
	"POST /workspaceproxies/me/deregister",
	"POST /workspaceproxies/me/issue-signed-app-token",
	"POST /workspaceproxies/me/app-stats",
	"GET /workspaceproxies/me/crypto-keys",
	"POST /workspaceproxies/me/app",
	"POST /workspaceproxies/me/session",
	"GET /workspaceproxies/me/hold",
	"GET /deployment/scim",
	"GET /organizations/{}/settings/rules",
	"PUT /organizations/{}/settings/rules",
	"GET /users/{}/service-account",
	"PUT /users/{}/service-account",
	"GET /users/{}/sessions",
	"DELETE /users/{}/sessions",
	"GET /groups/{}/members",
	"GET /workspaces/{}/acl/available",
	"GET /workspaces/{}/activity",
	"GET /workspaces/{}/plan-ahead",
	"PUT /users/{}/keys/{}/expire",
	"GET /workspaceagents/{}/watch-metadata",
	"GET /workspaceagents/{}/watch-metadata-ws",
}

// TestRoutesFollowContract holds the table to the contract: no route that is
// not in it, the status of success, and of every body the very fields.
func TestRoutesFollowContract(t *testing.T) {
	c := theContract(t)
	known := map[string]int{}
	for i, e := range c.Endpoints {
		known[shape(e.Method, e.Path)] = i
	}
	for _, r := range everyRoute() {
		name := shape(r.Method, r.Path)
		i, ok := known[name]
		if !ok {
			if !slices.Contains(ours, name) {
				t.Errorf("%s is not in the contract", name)
			}
			continue
		}
		e := c.Endpoints[i]
		status, out := r.Status, ""
		if status == 0 {
			status = 200
		}
		statuses := []int{}
		for _, resp := range e.Responses {
			statuses = append(statuses, resp.Status)
			if resp.Status == status {
				out = resp.Schema
			}
		}
		if len(statuses) > 0 && !slices.Contains(statuses, status) {
			t.Errorf("%s answers %d, the contract says %v", name, status, statuses)
		}
		if name == "GET /external-auth" {
			out = "" // the contract names the type of one link; clients read lists of links and of providers
		}
		if out != "" && r.Out != nil {
			for _, d := range c.differences(out, reflect.TypeOf(r.Out), name+" answer", true, nil) {
				t.Error(d)
			}
		}
		for _, p := range e.Params {
			if p.In == "body" && r.In != nil {
				for _, d := range c.differences(p.Type, reflect.TypeOf(r.In), name+" body", false, nil) {
					t.Error(d)
				}
			}
		}
	}
}

// TestRoutesAnswerAcceptedStatus checks the success code of every route that the
// public Go SDK calls: the SDK reports any other code as a failure.
func TestRoutesAnswerAcceptedStatus(t *testing.T) {
	routes := map[string]rest.Route{}
	for _, r := range everyRoute() {
		routes[shape(r.Method, Prefix+r.Path)] = r
	}
	checked := 0
	for _, call := range contracttest.SDKCalls(t) {
		path, _, _ := strings.Cut(call.Path, "?")
		r, ok := routes[shape(call.Method, strings.TrimSuffix(path, "/"))]
		if !ok {
			continue // of a feature that the server does not have
		}
		checked++
		if status := max(r.Status, http.StatusOK); !slices.Contains(call.Accepts, status) {
			t.Errorf("%s %s answers %d; the SDK accepts %v", call.Method, call.Path, status, call.Accepts)
		}
	}
	if checked < 150 {
		t.Errorf("only %d calls of the SDK have a route", checked)
	}
}

// differences compares a type of the contract with one of Go's.
func (c contract) differences(name string, t reflect.Type, at string, answer bool, seen []string) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	wrong := []string{fmt.Sprintf("%s is %s, the contract says %s", at, t, name)}
	raw := t == reflect.TypeFor[json.RawMessage]() || t.Kind() == reflect.Interface
	text := t.Kind() == reflect.String || t == reflect.TypeFor[time.Time]() || t == reflect.TypeFor[uuid.UUID]() ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]())
	switch {
	case raw, name == "any", name == "":
		return nil
	case name == "string", name == "uuid.NullUUID":
		if !text {
			return wrong
		}
		return nil
	case name == "boolean":
		if t.Kind() != reflect.Bool {
			return wrong
		}
		return nil
	case name == "integer", name == "number":
		if !t.ConvertibleTo(reflect.TypeFor[float64]()) {
			return wrong
		}
		return nil
	case strings.HasPrefix(name, "array of "):
		if t.Kind() != reflect.Slice && t.Kind() != reflect.Array {
			if slices.Contains(contracttest.Single(), strings.TrimPrefix(name, "array of ")) {
				return c.differences(strings.TrimPrefix(name, "array of "), t, at, answer, seen)
			}
			return wrong
		}
		element := strings.TrimPrefix(name, "array of ")
		if element == "array" || element == "undefined" {
			return nil
		}
		return c.differences(element, t.Elem(), at+"[]", answer, seen)
	case name == "object":
		if t.Kind() != reflect.Map && t.Kind() != reflect.Struct {
			return wrong
		}
		return nil
	}
	if element, ok := contracttest.MapOf(name); ok {
		if t.Kind() != reflect.Map {
			return wrong
		}
		return c.differences(element, t.Elem(), at+"[key]", answer, seen)
	}
	s, ok := c.Schemas[name]
	if strings.HasPrefix(s.Form, "string") && !text {
		return wrong
	}
	if !ok {
		return []string{at + ": the contract has no schema " + name}
	}
	if len(s.Fields) == 0 {
		if !text && t.Kind() != reflect.Map && t.Kind() != reflect.Slice && t.Kind() != reflect.Struct {
			return wrong
		}
		return nil
	}
	if slices.Contains(seen, name) || t.Kind() == reflect.Map {
		return nil
	}
	if t.Kind() != reflect.Struct {
		return wrong
	}
	return c.fields(name, s, t, at, answer, append(seen, name))
}

func (c contract) fields(name string, s contracttest.Schema, t reflect.Type, at string, answer bool, seen []string) (out []string) {
	have := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag != "" && tag != "-" {
			have[tag] = f.Type
		}
	}
	for f, want := range s.Fields {
		got, ok := have[f]
		switch {
		case strings.Contains(f, "[any property]"):
		case ok:
			out = append(out, c.differences(want.Type, got, at+"."+f, answer, seen)...)
		case answer && (slices.Contains(contracttest.NotInAnswers()[name], f) || name == "Response"):
		case answer || want.Required:
			out = append(out, fmt.Sprintf("%s lacks %s (%s)", at, f, want.Type))
		}
	}
	return out
}
