package provisionerhealth_test

import (
	"slices"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/rule/provisionerhealth"
)

// TestWarnings checks the health codes of versions.
func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		version, api, server string
		want                 []codersdk.HealthCode
	}{
		{"v2.30.1", "1.14", "v2.30.9", nil},
		{"v2.30.1+abc", "1.3", "v2.30.0-rc.1", nil},
		{"v2.29.1", "1.14", "v2.30.0", []codersdk.HealthCode{"EPD02"}},
		{"v3.30.0", "1.14", "v2.30.0", []codersdk.HealthCode{"EPD02"}},
		{"v2.1.0", "1.0", "v2.30.0", []codersdk.HealthCode{"EPD02", "EPD03"}},
		{"", "1.0", "v2.30.0", []codersdk.HealthCode{"EPD03"}},
		{"v2.37.0-devel+3097b5f", "1.14", "v2.37.0-devel", nil},
		{"v2.37.0-devel+3097b5f", "1.14", "v2.30.0", []codersdk.HealthCode{"EPD02"}},
		{"v2.30.0", "1.14", "devel", nil},
		{"v2.x.0", "1.14", "v2.30.0", nil},
	} {
		var got []codersdk.HealthCode
		for _, w := range provisionerhealth.Warnings(codersdk.ProvisionerDaemon{Version: c.version, APIVersion: c.api}, c.server) {
			got = append(got, w.Code)
			if w.Message == "" {
				t.Errorf("%s has no message", w.Code)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("provisioner %s, protocol %s, server %s: %v, want %v", c.version, c.api, c.server, got, c.want)
		}
	}
}
