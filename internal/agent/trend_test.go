package agent

import "testing"

// A run of measurements decides, a peak does not.
func TestTrend(t *testing.T) {
	for name, tc := range map[string]struct{ measured, news string }{
		"low from the beginning":   {"......", "     ."},
		"high from the beginning":  {"######", "     #"},
		"the same is told once":    {"............", "     .      "},
		"a peak":                   {"......#####......", "     .           "},
		"short":                    {"......######..", "     .     #  "},
		"and room again":           {"......######......", "     .     #     ."},
		"it sways":                 {"......#.#.#.#.#.#.", "     .            "},
		"it sways, then is short":  {"#.#.#.######", "           #"},
		"a dip while it was short": {"######.....######", "     #           "},
	} {
		var so trend
		news := ""
		for _, m := range tc.measured {
			switch {
			case !so.add(m == '#'):
				news += " "
			case so.short:
				news += "#"
			default:
				news += "."
			}
		}
		if news != tc.news {
			t.Errorf("%s: %q gave %q, want %q", name, tc.measured, news, tc.news)
		}
	}
}
