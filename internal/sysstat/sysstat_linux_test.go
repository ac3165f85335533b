package sysstat

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// tree makes a root directory with the files.
func tree(t *testing.T, files map[string]string) Machine {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Machine{Root: root}
}

func TestContainers(t *testing.T) {
	const gib = 1 << 30
	host := map[string]string{"proc/meminfo": "MemTotal: 8388608 kB\nMemFree: 1 kB\nMemAvailable: 4194304 kB"}
	for name, tc := range map[string]struct {
		files      map[string]string
		contained  bool
		cores      float64 // 0: no limit
		used, most float64 // of memory; most 0: no limit
	}{
		"no groups": {},
		"a machine of version 2": {files: map[string]string{
			"proc/self/cgroup": "0::/user.slice/session.scope", "sys/fs/cgroup/cgroup.controllers": "cpu memory",
			"sys/fs/cgroup/user.slice/session.scope/memory.current": "10", "sys/fs/cgroup/user.slice/session.scope/memory.max": "max",
			"sys/fs/cgroup/user.slice/session.scope/cpu.max": "max 100000", "sys/fs/cgroup/user.slice/session.scope/cpu.stat": "usage_usec 5",
		}, used: 4 * gib, most: 8 * gib},
		"version 2 in a namespace of its own": {contained: true, cores: 1.5, used: 2*gib - 100, most: 4 * gib, files: map[string]string{
			"proc/self/cgroup": "0::/", "sys/fs/cgroup/cgroup.controllers": "cpu memory",
			"sys/fs/cgroup/memory.current": "2147483648", "sys/fs/cgroup/memory.max": "4294967296", "sys/fs/cgroup/memory.stat": "file 7\ninactive_file 100\n",
			"sys/fs/cgroup/cpu.max": "150000 100000", "sys/fs/cgroup/cpu.stat": "usage_usec 5\nuser_usec 3",
		}},
		"version 2, the limit is on the group above": {contained: true, used: 50, most: 4 * gib, files: map[string]string{
			"proc/self/cgroup": "0::/pod/one", "sys/fs/cgroup/cgroup.controllers": "cpu memory",
			"sys/fs/cgroup/pod/one/memory.max": "max", "sys/fs/cgroup/pod/one/memory.current": "7", "sys/fs/cgroup/pod/one/cpu.max": "max 100000",
			"sys/fs/cgroup/pod/memory.max": "4294967296", "sys/fs/cgroup/pod/memory.current": "50", "sys/fs/cgroup/pod/cpu.max": "max 100000", "sys/fs/cgroup/pod/cpu.stat": "usage_usec 1",
		}},
		"version 1": {contained: true, cores: 2, used: 900, most: gib, files: map[string]string{
			"proc/self/cgroup": "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n",
			"sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us":              "200000",
			"sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us":             "100000",
			"sys/fs/cgroup/cpu/docker/x/cpuacct.usage":                 "1000",
			"sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes":      "1073741824",
			"sys/fs/cgroup/memory/docker/x/memory.usage_in_bytes":      "1000",
			"sys/fs/cgroup/memory/docker/x/memory.stat":                "cache 1\ntotal_inactive_file 100",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":               "9223372036854771712",
			"sys/fs/cgroup/memory/docker/memory.limit_in_bytes":        "9223372036854771712",
			"sys/fs/cgroup/memory/docker/memory.usage_in_bytes":        "1",
			"sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us":                "-1",
			"sys/fs/cgroup/cpu/docker/x/other/cpu.cfs_quota_us":        "-1",
			"sys/fs/cgroup/memory/docker/x/other/memory.limit_in_byte": "1",
		}},
		"version 1, seen from inside, without limits": {contained: true, used: 10, files: map[string]string{
			"proc/self/cgroup":                           "4:memory:/kubepods/x\n3:cpu,cpuacct:/kubepods/x\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":         "-1",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us":        "100000",
			"sys/fs/cgroup/cpu/cpuacct.usage":            "1000",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
			"sys/fs/cgroup/memory/memory.usage_in_bytes": "10",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range host {
				if tc.files == nil {
					tc.files = map[string]string{}
				}
				tc.files[k] = v
			}
			if !tc.contained {
				tc.used, tc.most = 4*gib, 8*gib
			}
			m := tree(t, tc.files)
			c, ok := m.container()
			if ok != tc.contained {
				t.Fatalf("in a container: %t", ok)
			}
			mem, err := m.Memory(false)
			if err != nil {
				t.Fatal(err)
			}
			if mem.Used != tc.used || (mem.Total == nil) != (tc.most == 0) || mem.Total != nil && *mem.Total != tc.most {
				t.Errorf("memory %s", mem.Text("Mi"))
			}
			if all, err := m.Memory(true); err != nil || all.Text("Gi") != "4/8 GiB (50%)" {
				t.Errorf("the machine's memory: %v %s", err, all.Text("Gi"))
			}
			if !ok {
				return
			}
			if n, limited := c.cores(); limited != (tc.cores > 0) || limited && n != tc.cores {
				t.Errorf("%v cores", n)
			}
			cpu, err := m.CPU(t.Context(), false)
			if err != nil || cpu.Used != 0 {
				t.Errorf("%v: cpu %+v", err, cpu)
			}
		})
	}
}

func TestProcessors(t *testing.T) {
	m := tree(t, map[string]string{"proc/stat": "cpu  10 0 10 5 5 0 0 0 7 7\ncpu0 1\ncpu1 1\nbtime 1"})
	v, err := m.CPU(t.Context(), true)
	if err != nil || v.Text("") != "0/2 cores (0%)" {
		t.Errorf("%v: %s", err, v.Text(""))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.CPU(ctx, true); err == nil {
		t.Error("it waited for nothing")
	}
	real := Machine{Root: "/"}
	if v, err := real.CPU(t.Context(), true); err != nil || v.Total == nil || v.Used > *v.Total {
		t.Errorf("%v: %+v", err, v)
	}
	if v, err := Disk(t.TempDir()); err != nil || v.Used <= 0 || v.Used > *v.Total {
		t.Errorf("%v: %+v", err, v)
	}
	if _, err := Disk("/no/such/place"); err == nil {
		t.Error("a disk that is not there")
	}
}

func TestAmounts(t *testing.T) {
	for want, got := range map[string]string{
		"1.2/4 cores (31%)":   of(1.23, 4, "cores").Text(""),
		"1.5/2 GiB (75%)":     of(1.5*(1<<30), 2<<30, "B").Text("Gi"),
		"1536/2048 MiB (75%)": of(1.5*(1<<30), 2<<30, "B").Text("Mi"),
		"0/0 TiB":             of(0, 0, "B").Text("Ti"),
		"2 KiB":               (&Amount{Used: 2048, Unit: "B"}).Text("Ki"),
		"not available":       (*Amount)(nil).Text("Gi"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
