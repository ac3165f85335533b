package httpapi

import (
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func TestWithoutApps(t *testing.T) {
	ports := []codersdk.WorkspaceAgentListeningPort{{Port: 8080}, {Port: 8081}, {Port: 8082}, {Port: 8083}, {Port: 8084}}
	apps := []codersdk.WorkspaceApp{
		{URL: "http://localhost:8080/x"}, {URL: "https://127.0.0.1:8081"}, {URL: "http://[::1]:8082"},
		{URL: "http://db.internal:8083"}, {URL: "vscode://localhost:8084", External: true}, {Command: "top"}, {URL: ":"},
	}
	got := withoutApps(ports, apps)
	if len(got) != 2 || got[0].Port != 8083 || got[1].Port != 8084 {
		t.Errorf("%+v", got)
	}
	if none := withoutApps(nil, apps); none == nil || len(none) != 0 {
		t.Errorf("%+v", none)
	}
}
