package server

import (
	_ "embed"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// settingsTable states where the API shows which option: a line for each of its
// settings, with the place, the type, and the flag; of two flags the first
// wins when it is given, and =n is a value that nobody can set. What has no
// flag has its zero value: the contract lists it and there is nothing to set.
//
//go:embed settings.txt
var settingsTable string

// secretFlags returns the options whose values the API never shows.
func secretFlags() []string {
	return []string{
		"aibridge-anthropic-key", "aibridge-bedrock-access-key", "aibridge-bedrock-access-key-secret", "aibridge-openai-key",
		"email-auth-password", "external-auth-providers", "external-token-encryption-keys", "notifications-email-auth-password", "notifications-webhook-secret",
		"oauth2-github-client-secret",
		"oidc-client-secret", "postgres-url", "provisioner-daemon-psk", "scim-auth-header", "trace-honeycomb-api-key",
	}
}

// settings returns the options in the form of the API: secrets without values,
// URLs without passwords. Refused options are not listed; their fields have the
// defaults. (CP-06)
func settings(options []*option.Option) codersdk.DeploymentConfig {
	out := codersdk.DeploymentConfig{Config: map[string]any{}, Options: []codersdk.DeploymentOption{}}
	byFlag := make(map[string]*option.Option, len(options))
	for _, o := range options {
		byFlag[o.Flag] = o
		if o.Refusal == "" {
			out.Options = append(out.Options, describe(o))
		}
	}
	for line := range strings.Lines(settingsTable) {
		place, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		kind, flags, _ := strings.Cut(rest, " ")
		put(out.Config, strings.Split(place, "."), valueOf(kind, flags, byFlag))
	}
	return out
}

// put stores a value in nested maps at the path.
func put(at map[string]any, path []string, v any) {
	for _, p := range path[:len(path)-1] {
		below, ok := at[p].(map[string]any)
		if !ok {
			below = map[string]any{}
			at[p] = below
		}
		at = below
	}
	at[path[len(path)-1]] = v
}

// valueOf returns the value of the first of flags that exists, or the zero
// value of kind.
func valueOf(kind, flags string, byFlag map[string]*option.Option) any {
	if constant, ok := strings.CutPrefix(flags, "="); ok {
		return typed(kind, constant)
	}
	text := ""
	for f := range strings.SplitSeq(flags, ",") {
		o := byFlag[f]
		if o == nil {
			continue
		}
		text = shown(o)
		if o.Given() && text != "" {
			break
		}
	}
	return typed(kind, text)
}

// shown returns an option's value without secrets, as text.
func shown(o *option.Option) string {
	text := o.Value.Get()
	switch {
	case slices.Contains(secretFlags(), o.Flag):
		return ""
	case strings.Contains(text, "@"):
		if u, err := url.Parse(text); err == nil && u.User != nil {
			u.User = url.User(u.User.Username())
			return u.String()
		}
	}
	return text
}

// typed converts text to the JSON value of a setting of that kind.
func typed(kind, text string) any {
	switch kind {
	case "bool":
		return text == "true"
	case "number":
		if d, err := time.ParseDuration(text); err == nil {
			return d.Nanoseconds()
		}
		n, _ := strconv.ParseInt(text, 10, 64) // Int options hold valid integers
		return n
	case "list":
		items, err := option.SplitCSV(text)
		if err != nil || items == nil {
			return []string{}
		}
		return items
	case "object":
		v := map[string]any{}
		json.Unmarshal([]byte(text), &v) //nolint:errcheck // options hold JSON of their shape
		return v
	case "array":
		v := []any{}
		json.Unmarshal([]byte(text), &v) //nolint:errcheck // options hold JSON of their shape
		return v
	}
	return text
}

// describe returns one entry of the list of options.
func describe(o *option.Option) codersdk.DeploymentOption {
	out := codersdk.DeploymentOption{
		Name: strings.ReplaceAll(o.Flag, "-", " "), Description: o.Text, Flag: o.Flag, FlagShorthand: o.Letter, Env: o.Variable, Default: o.Initial,
		Hidden: o.Hidden, Kind: o.Value.Kind, Group: codersdk.DeploymentOptionGroup{Name: o.Topic}, Annotations: map[string]string{},
		ValueSource: codersdk.ValueSource(o.Origin), UseInstead: []codersdk.DeploymentOption{},
	}
	out.YAML = o.Key
	text := shown(o)
	switch {
	case slices.Contains(secretFlags(), o.Flag):
		out.Annotations["secret"], out.Value = "true", ""
	case o.Value.Kind == "bool":
		out.Value = typed("bool", text)
	case o.Value.Kind == "int", o.Value.Kind == "duration":
		out.Value = typed("number", text)
	case strings.HasPrefix(o.Value.Kind, "struct["):
		out.Value = structure(text)
	case !o.Value.Single:
		out.Value = typed("list", text)
	default:
		out.Value = text
	}
	return out
}

// structure decodes the JSON value of an option; nil for none.
func structure(text string) (v any) {
	json.Unmarshal([]byte(text), &v) //nolint:errcheck // options hold JSON of their shape
	return v
}
