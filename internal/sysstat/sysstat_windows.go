package sysstat

import (
	"context"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	kernel32       = windows.NewLazySystemDLL("kernel32.dll")
	getSystemTimes = kernel32.NewProc("GetSystemTimes")
	memoryStatus   = kernel32.NewProc("GlobalMemoryStatusEx")
)

// hostCPU reads the busy CPU time.
func (m Machine) hostCPU(ctx context.Context) (*Amount, error) {
	busy, err := measureBusyCores(ctx, func() (float64, error) {
		var idle, kernel, user windows.Filetime
		ok, _, err := getSystemTimes.Call(uintptr(unsafe.Pointer(&idle)), uintptr(unsafe.Pointer(&kernel)), uintptr(unsafe.Pointer(&user)))
		if ok == 0 {
			return 0, err
		}
		seconds := func(t windows.Filetime) float64 { // units of 100 ns
			return float64(uint64(t.HighDateTime)<<32|uint64(t.LowDateTime)) / 1e7
		}
		return seconds(kernel) + seconds(user) - seconds(idle), nil // kernel time includes idle time
	})
	if err != nil {
		return nil, fmt.Errorf("read the CPU usage: %w", err)
	}
	return of(min(busy, processors()), processors(), "cores"), nil
}

// hostMemory reads the memory size and the free memory.
func (m Machine) hostMemory() (*Amount, error) {
	var s struct {
		length, load                                                      uint32
		total, free, totalPage, freePage, totalVirtual, freeVirtual, more uint64
	}
	s.length = uint32(unsafe.Sizeof(s))
	if ok, _, err := memoryStatus.Call(uintptr(unsafe.Pointer(&s))); ok == 0 {
		return nil, fmt.Errorf("read the memory usage: %w", err)
	}
	return of(float64(s.total-s.free), float64(s.total), "B"), nil
}

// Disk returns the usage of the disk that contains path.
func Disk(path string) (*Amount, error) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	var available, total, free uint64
	if err := windows.GetDiskFreeSpaceEx(p, &available, &total, &free); err != nil {
		return nil, fmt.Errorf("read the disk usage of %s: %w", path, err)
	}
	return of(float64(total-free), float64(total), "B"), nil
}
