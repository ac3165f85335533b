package archtest

import (
	"os/exec"
	"strings"
	"testing"
)

// TestOnlyTheOperatorLinksKubernetes keeps megabytes that are of use in a
// cluster alone out of the programs that all users download.
func TestOnlyTheOperatorLinksKubernetes(t *testing.T) {
	for _, program := range []string{"./cmd/coder", "./cmd/coder-agent"} {
		cmd := exec.Command("go", "list", "-deps", program)
		cmd.Dir = "../.."
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for path := range strings.FieldsSeq(string(out)) {
			if strings.HasPrefix(path, "k8s.io/") || strings.HasPrefix(path, "sigs.k8s.io/") {
				t.Errorf("%s links %s", program, path)
			}
		}
	}
}
