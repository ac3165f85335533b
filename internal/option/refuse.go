package option

import (
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// CheckRefused returns an error that lists every option that requests a missing
// feature. A value that equals the default, is false or is empty is accepted:
// configurations that were written for other servers contain such lines.
func CheckRefused(options []*Option) error {
	var lines []string
	for _, o := range options {
		if o.asksForMissing() {
			lines = append(lines, o.nameIn(o.Origin)+": "+o.Refusal)
		}
	}
	switch len(lines) {
	case 0:
		return nil
	case 1:
		return codersdk.Errorf(codersdk.CodeInvalid, "%s", lines[0])
	}
	return codersdk.Errorf(codersdk.CodeInvalid, "some options are not supported:\n  %s", strings.Join(lines, "\n  "))
}

// asksForMissing reports whether a refused option has a value that requests the
// missing feature.
func (o *Option) asksForMissing() bool {
	if o.Refusal == "" || !o.Given() {
		return false
	}
	v := o.Value.Get()
	return v != o.standard && (o.exact || v != "" && v != "false")
}
