package port

import "testing"

func TestVisiblePorts(t *testing.T) {
	got := visible(map[int32]string{8080: "python3", 22: "sshd", 80: "nginx", 3000: "", 5: "x", 2113: "coder"})
	if len(got) != 3 || got[0].Port != 80 || got[1].Port != 3000 || got[2].Port != 8080 || got[2].ProcessName != "python3" || got[0].Network != "tcp" {
		t.Errorf("%+v", got)
	}
}
