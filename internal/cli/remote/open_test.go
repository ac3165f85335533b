package remote

import (
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func TestDirectory(t *testing.T) {
	for _, c := range []struct{ system, own, dir, want string }{
		{"linux", "/home/dev", "", "/home/dev"},
		{"linux", "/home/dev", "/srv", "/srv"},
		{"linux", "/home/dev", "src/app", "/home/dev/src/app"},
		{"linux", "/home/dev", "../ann", "/home/ann"},
		{"linux", "/home/dev", "~/src", "~/src"},
		{"linux", "", "src", "src"},
		{"linux", "", "", ""},
		{"windows", `C:\Users\dev`, "", "/C:/Users/dev"},
		{"windows", `C:\Users\dev`, `src\app`, "/C:/Users/dev/src/app"},
		{"windows", `C:\Users\dev`, `D:\src`, "/D:/src"},
		{"windows", "", "", ""},
	} {
		if got := directory(codersdk.WorkspaceAgent{OperatingSystem: c.system, ExpandedDirectory: c.own}, c.dir); got != c.want {
			t.Errorf("%+v is %q", c, got)
		}
	}
}
