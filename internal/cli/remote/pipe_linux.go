package remote

import (
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// pipeSize is the capacity of a pipe in bytes. The default of 64 KiB holds only
// two SSH packets, so both ends would wait for each other to be scheduled.
const pipeSize = 512 << 10

// reopenPipe opens a pipe again with a flag of os.OpenFile and raises its
// capacity. Reads and writes of the new file use the poller and block no
// thread. A file that is not a pipe, or cannot be opened, is returned
// unchanged. The original file stays open.
func reopenPipe(f *os.File, flag int) *os.File {
	if info, err := f.Stat(); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return f
	}
	again, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), flag|unix.O_NONBLOCK, 0)
	if err != nil {
		return f
	}
	if raw, err := again.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { // above the user's limit the capacity remains unchanged
			_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize)
		})
	}
	return again
}
