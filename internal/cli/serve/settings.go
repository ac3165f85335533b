package serve

import (
	_ "embed"
	"encoding/json"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// settingsTable says where the API shows which option: a line for each of its
// settings, with the place, the type, and the flag; of two flags the first
// wins when it is given, and =n is a value that nobody can set. What has no
// flag has its zero value: the contract lists it and there is nothing to set.
//
//go:embed settings.txt
var settingsTable string

// secretFlags are the options whose values the API never shows.
func secretFlags() []string {
	return []string{
		"aibridge-anthropic-key", "aibridge-bedrock-access-key", "aibridge-bedrock-access-key-secret", "aibridge-openai-key",
		"email-auth-password", "external-token-encryption-keys", "notifications-email-auth-password", "oauth2-github-client-secret",
		"oidc-client-secret", "postgres-url", "provisioner-daemon-psk", "scim-auth-header", "trace-honeycomb-api-key",
	}
}

// settings gives the options as the API shows them: secrets without their
// values, URLs without passwords. (CP-06)
func settings(options []*option.Option) coder.DeploymentConfig {
	out := coder.DeploymentConfig{Config: map[string]any{}, Options: []coder.DeploymentOption{}}
	byFlag := make(map[string]*option.Option, len(options))
	for _, o := range options {
		byFlag[o.Flag] = o
		out.Options = append(out.Options, describe(o))
	}
	for line := range strings.Lines(settingsTable) {
		place, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		kind, flags, _ := strings.Cut(rest, " ")
		put(out.Config, strings.Split(place, "."), valueOf(kind, flags, byFlag))
	}
	return out
}

// put stores a value below the maps that its path names.
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

// valueOf gives what the option of the flags holds, or the zero value.
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
		if o.Given() {
			break
		}
	}
	return typed(kind, text)
}

// shown is an option's value as text that may be seen.
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

// typed makes of text the JSON that a setting of that kind has.
func typed(kind, text string) any {
	switch kind {
	case "bool":
		return text == "true"
	case "number":
		if d, err := time.ParseDuration(text); err == nil {
			return d.Nanoseconds()
		}
		n, _ := strconv.ParseInt(text, 10, 64) // options hold numbers
		return n
	case "list":
		items, err := option.SplitCSV(text)
		if err != nil || items == nil {
			return []string{}
		}
		return items
	case "address":
		host, port, _ := net.SplitHostPort(text)
		return map[string]string{"host": host, "port": port}
	case "url":
		u, err := url.Parse(text)
		if err != nil {
			u = &url.URL{}
		}
		return map[string]any{
			"forceQuery": u.ForceQuery, "fragment": u.Fragment, "host": u.Host, "omitHost": u.OmitHost, "opaque": u.Opaque, "path": u.Path,
			"rawFragment": u.RawFragment, "rawPath": u.RawPath, "rawQuery": u.RawQuery, "scheme": u.Scheme, "user": map[string]any{},
		}
	case "object":
		v := map[string]any{}
		json.Unmarshal([]byte(text), &v) //nolint:errcheck // options hold JSON of their shape
		return v
	case "struct":
		v := []any{}
		json.Unmarshal([]byte(text), &v) //nolint:errcheck // options hold JSON of their shape
		return map[string]any{"value": v}
	}
	return text
}

// describe gives one option for the list.
func describe(o *option.Option) coder.DeploymentOption {
	out := coder.DeploymentOption{
		Name: strings.ReplaceAll(o.Flag, "-", " "), Description: o.Text, Flag: o.Flag, FlagShorthand: o.Letter, Env: o.Variable, Default: o.Initial,
		Hidden: o.Hidden, Kind: o.Value.Kind, Group: coder.DeploymentOptionGroup{Name: o.Topic}, Annotations: map[string]string{},
		ValueSource: coder.ValueSource(o.Origin), UseInstead: []coder.DeploymentOption{},
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

// structure is the JSON that an option holds, nil for none.
func structure(text string) (v any) {
	json.Unmarshal([]byte(text), &v) //nolint:errcheck // options hold JSON of their shape
	return v
}
