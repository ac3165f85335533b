package remote

import (
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// pipeSize is how much may wait in a pipe, in bytes. By default it is 64 KiB, two packets
// of SSH: then each end waits for the other's turn of a processor again and again.
const pipeSize = 512 << 10

// swiftPipe gives a pipe again, opened anew with a flag of os.OpenFile, so that reading
// and writing it wait as sockets do and hold no thread, and has it hold more. What is
// no pipe, or cannot be opened, is given as it is. The file itself stays open.
func swiftPipe(f *os.File, flag int) *os.File {
	if info, err := f.Stat(); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return f
	}
	again, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), flag|unix.O_NONBLOCK, 0)
	if err != nil {
		return f
	}
	if raw, err := again.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { // beyond what a user may have it stays as it was
			_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize)
		})
	}
	return again
}
