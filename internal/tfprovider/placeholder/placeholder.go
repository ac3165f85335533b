// Package placeholder adds placeholders to the public Terraform provider, so that required
// parameters with a validation can be imported.
package placeholder

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"

	"github.com/hashicorp/go-cty/cty"
	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"

	"github.com/coder/terraform-provider-coder/v2/provider"
)

// Placeholders is the environment variable with which the engine marks an
// import, in which no user has chosen values. The public provider validates a
// missing value, so a required parameter with a validation could never be
// imported. During an import the provider plans with a value that passes the
// validation. The reported default of the parameter does not change.
const Placeholders = "CODER_IMPORT_PLACEHOLDERS"

// New returns the public provider with placeholders.
func New() *schema.Provider {
	p := provider.New()
	parameter := p.DataSourcesMap["coder_parameter"]
	read := parameter.ReadContext
	parameter.ReadContext = func(ctx context.Context, rd *schema.ResourceData, meta any) diag.Diagnostics {
		name, _ := rd.Get("name").(string)
		variable := provider.ParameterEnvironmentVariable(name)
		_, given := os.LookupEnv(variable)
		raw := rd.GetRawConfig()
		if given || os.Getenv(Placeholders) == "" || !raw.GetAttr("default").IsNull() || raw.GetAttr("validation").LengthInt() != 1 {
			return read(ctx, rd, meta)
		}
		value, ok := placeholder(raw)
		if !ok {
			return append(read(ctx, rd, meta),
				diag.Errorf("the required parameter %q cannot be imported: no value was found that passes its validation; set a default", name)...)
		}
		if err := os.Setenv(variable, value); err != nil {
			return diag.FromErr(err)
		}
		defer os.Unsetenv(variable) //nolint:errcheck // it was set
		return read(ctx, rd, meta)
	}
	return p
}

// placeholder returns a value that passes a parameter's options and validation.
func placeholder(raw cty.Value) (string, bool) {
	rule := raw.GetAttr("validation").AsValueSlice()[0]
	kind := provider.OptionType(text(raw.GetAttr("type")))
	if kind == "" {
		kind = provider.OptionTypeString
	}
	minimum, hasMin := number(rule.GetAttr("min"))
	maximum, hasMax := number(rule.GetAttr("max"))
	v := provider.Validation{
		Min: minimum, MinDisabled: !hasMin, Max: maximum, MaxDisabled: !hasMax,
		Regex: text(rule.GetAttr("regex")), Error: text(rule.GetAttr("error")), Monotonic: text(rule.GetAttr("monotonic")),
	}
	var tries []string
	options := raw.GetAttr("option").AsValueSlice()
	for _, o := range options {
		value := text(o.GetAttr("value"))
		if kind == provider.OptionTypeListString && !strings.HasPrefix(value, "[") {
			b, err := json.Marshal([]string{value})
			if err != nil {
				continue
			}
			value = string(b)
		}
		tries = append(tries, value)
	}
	if len(options) == 0 {
		switch kind {
		case provider.OptionTypeNumber:
			tries = []string{strconv.Itoa(minimum), strconv.Itoa(maximum), "0"}
		case provider.OptionTypeBoolean:
			tries = []string{"false"}
		case provider.OptionTypeListString:
			tries = []string{"[]"}
		default:
			tries = matching(v.Regex)
		}
	}
	for _, t := range tries {
		if v.Valid(kind, t, nil) == nil {
			return t, true
		}
	}
	return "", false
}

func text(v cty.Value) string {
	if v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}

func number(v cty.Value) (int, bool) {
	if v.IsNull() || !v.IsKnown() || v.Type() != cty.Number {
		return 0, false
	}
	n, _ := v.AsBigFloat().Int64()
	return int(n), true
}

// matching returns texts, one of which probably matches an expression: common
// ones, and one derived from the expression.
func matching(expr string) []string {
	if _, err := regexp.Compile(expr); err != nil {
		return nil
	}
	tries := []string{"", "a", "A", "1", "example", "Example", "example-1", "user@example.com", "https://example.com", "10.0.0.1", "2006-01-02"}
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return tries
	}
	var b strings.Builder
	if shortest(&b, re); b.Len() <= maxPlaceholder {
		tries = append(tries, b.String())
	}
	return tries
}

// maxPlaceholder bounds a placeholder, in bytes.
const maxPlaceholder = 4 << 10

// shortest writes a short text that re may match.
func shortest(b *strings.Builder, re *syntax.Regexp) {
	if b.Len() > maxPlaceholder {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(member(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpCapture, syntax.OpPlus:
		shortest(b, re.Sub[0])
	case syntax.OpAlternate:
		shortest(b, re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			shortest(b, sub)
		}
	case syntax.OpRepeat:
		for range re.Min {
			shortest(b, re.Sub[0])
		}
	}
}

// member returns a rune of a class, given as pairs of bounds, preferably a
// common one.
func member(pairs []rune) rune {
	for _, likely := range "a1A-_ ." {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] <= likely && likely <= pairs[i+1] {
				return likely
			}
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		for r := pairs[i]; r <= min(pairs[i+1], pairs[i]+128); r++ {
			if unicode.IsPrint(r) {
				return r
			}
		}
	}
	return 'a'
}
