package state

import (
	"fmt"
	"strings"
	"testing"
)

func TestCheckState(t *testing.T) {
	state := func(lineage string, serial int, id string) string {
		return fmt.Sprintf(`{"version": 4, "lineage": %q, "serial": %d, "resources": [{"mode": "managed", "type": "docker_volume", "name": "home", "instances": [{"attributes": {"id": %q}}]}]}`, lineage, serial, id)
	}
	current := state("a", 5, "vol-1")
	for name, c := range map[string]struct{ current, pushed, refused string }{
		"the same":                        {current, current, ""},
		"a later one":                     {current, state("a", 6, "vol-1"), ""},
		"the first one":                   {"", state("b", 1, "vol-2"), ""},
		"after a state without a lineage": {`{"version": 4}`, current, ""},
		"all resources were removed":      {current, `{"version": 4, "lineage": "a", "serial": 6, "resources": []}`, ""},
		"of another workspace":            {current, state("b", 5, "vol-2"), `its lineage is "b", but that of the workspace is "a"`},
		"an older one":                    {current, state("a", 4, "vol-1"), "its serial is 4, but that of the workspace is 5"},
		"other resources":                 {current, state("a", 6, "vol-9"), "has no resource in common with the state of dev"},
		"not a state":                     {current, "hello", "not a Terraform state"},
		"other JSON":                      {"", "{}", "not a Terraform state"},
		"nothing":                         {current, "", "not a Terraform state"},
		"current is not JSON":             {"half", current, "cannot be compared"},
	} {
		err := checkState("dev", []byte(c.current), []byte(c.pushed))
		switch {
		case c.refused == "" && err != nil:
			t.Errorf("%s is refused: %v", name, err)
		case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused) || !strings.Contains(err.Error(), "--force")):
			t.Errorf("%s: got %v, want %q", name, err, c.refused)
		}
	}
}
