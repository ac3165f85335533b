//go:build unix

package sshd

import (
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// openTerminal opens a pseudo-terminal. The master side is non-blocking, so
// that its reads support deadlines.
func openTerminal() (ours, theirs *os.File, err error) {
	p, theirs, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	defer p.Close()
	fd, err := unix.FcntlInt(p.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return os.NewFile(uintptr(fd), p.Name()), theirs, nil
}

// setSize sets the size of a terminal.
func setSize(f *os.File, s pty.Winsize) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: s.Rows, Col: s.Cols, Xpixel: s.X, Ypixel: s.Y})
	})
	if err != nil {
		return err
	}
	return failed
}
