package workspaceapp_test

import (
	"net/url"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

func TestSite(t *testing.T) {
	t.Parallel()
	for _, invalid := range []string{"", "://sydney.example.com"} {
		if _, ok := workspaceapp.ParseSite(invalid, ""); ok {
			t.Errorf("%q was accepted as an access URL", invalid)
		}
	}
	site, ok := workspaceapp.ParseSite("https://sydney.example.com", "*.sydney.example.com")
	if !ok {
		t.Fatal("a valid site was refused")
	}
	for host, want := range map[string]bool{
		"sydney.example.com":     true,
		"dev.sydney.example.com": true,
		"coder.example.com":      false,
	} {
		if got := site.HasHost(host); got != want {
			t.Errorf("HasHost(%q) = %v", host, got)
		}
	}
	for address, want := range map[string]bool{
		"https://sydney.example.com/@owner/dev/apps/code/":        true,
		"https://sydney.example.com/login":                        false,
		"http://sydney.example.com/@owner/dev/apps/code/":         false,
		"https://sydney.example.com:8443/@owner/dev/apps/code/":   false,
		"https://code--dev--owner.sydney.example.com/":            true,
		"https://code--dev--owner.coder.example.com/":             false,
		"https://coder.example.com/@owner/dev/apps/code/?folder=": false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := site.Serves(u); got != want {
			t.Errorf("Serves(%q) = %v", address, got)
		}
	}
}
