package sshd

import (
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

// setModes applies the terminal modes of a pty-req (RFC 4254, section 8). It
// ignores modes that Linux does not have.
func setModes(f *os.File, modes []byte) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		t, err := unix.IoctlGetTermios(int(fd), unix.TCGETS)
		if err != nil {
			failed = err
			return
		}
		for len(modes) >= 5 && modes[0] > 0 && modes[0] < 160 {
			setMode(t, modes[0], binary.BigEndian.Uint32(modes[1:5]))
			modes = modes[5:]
		}
		failed = unix.IoctlSetTermios(int(fd), unix.TCSETS, t)
	})
	if err != nil {
		return err
	}
	return failed
}

func setMode(t *unix.Termios, code byte, value uint32) {
	if i, ok := characters()[code]; ok {
		t.Cc[i] = byte(value)
		if value == 255 {
			t.Cc[i] = 0 // disabled
		}
		return
	}
	set := func(flags *uint32, bit uint32) {
		*flags &^= bit
		if value != 0 {
			*flags |= bit
		}
	}
	switch {
	case code >= 30 && code <= 42:
		set(&t.Iflag, [...]uint32{
			unix.IGNPAR, unix.PARMRK, unix.INPCK, unix.ISTRIP, unix.INLCR, unix.IGNCR, unix.ICRNL,
			unix.IUCLC, unix.IXON, unix.IXANY, unix.IXOFF, unix.IMAXBEL, unix.IUTF8,
		}[code-30])
	case code >= 50 && code <= 62:
		set(&t.Lflag, [...]uint32{
			unix.ISIG, unix.ICANON, unix.XCASE, unix.ECHO, unix.ECHOE, unix.ECHOK, unix.ECHONL,
			unix.NOFLSH, unix.TOSTOP, unix.IEXTEN, unix.ECHOCTL, unix.ECHOKE, unix.PENDIN,
		}[code-50])
	case code >= 70 && code <= 75:
		set(&t.Oflag, [...]uint32{unix.OPOST, unix.OLCUC, unix.ONLCR, unix.OCRNL, unix.ONOCR, unix.ONLRET}[code-70])
	}
}

// characters maps opcodes to the indexes of special characters.
func characters() map[byte]int {
	return map[byte]int{
		1: unix.VINTR, 2: unix.VQUIT, 3: unix.VERASE, 4: unix.VKILL, 5: unix.VEOF, 6: unix.VEOL, 7: unix.VEOL2,
		8: unix.VSTART, 9: unix.VSTOP, 10: unix.VSUSP, 12: unix.VREPRINT, 13: unix.VWERASE, 14: unix.VLNEXT, 18: unix.VDISCARD,
	}
}
