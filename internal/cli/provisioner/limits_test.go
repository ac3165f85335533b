package provisioner

import (
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/terraform"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/cage"
)

func TestBounds(t *testing.T) {
	for _, c := range []struct {
		b    boundOptions
		want terraform.Config
		bad  bool
	}{
		{b: boundOptions{}},
		{b: boundOptions{cacheSize: "20Gi"}, want: terraform.Config{StoreBytes: 20 << 30}},
		{b: boundOptions{cacheSize: "1", slotMemory: "512Mi", slotCPUs: "1.5"}, want: terraform.Config{StoreBytes: 1, Limits: cage.Limits{MemoryBytes: 512 << 20, CPUs: 1.5}}},
		{b: boundOptions{cacheSize: "0"}, bad: true},
		{b: boundOptions{cacheSize: "-1Gi"}, bad: true},
		{b: boundOptions{cacheSize: "10G"}, bad: true},
		{b: boundOptions{cacheSize: "9999999999Ti"}, bad: true},
		{b: boundOptions{slotMemory: "1Mi"}, bad: true},
		{b: boundOptions{slotMemory: "lots"}, bad: true},
		{b: boundOptions{slotCPUs: "0"}, bad: true},
		{b: boundOptions{slotCPUs: "NaN"}, bad: true},
		{b: boundOptions{slotCPUs: "two"}, bad: true},
	} {
		var got terraform.Config
		if err := c.b.apply(&got); (err != nil) != c.bad || err == nil && got != c.want {
			t.Errorf("%+v: %+v, %v", c.b, got, err)
		}
	}
}
