package sshd

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/crypto/ssh"
)

// Display numbers of forwarded displays; lower numbers may be real displays.
const (
	firstDisplay = 10
	lastDisplay  = 1010
	firstX11Port = 6000
)

// display is a forwarded X11 display of a session.
type display struct {
	l      net.Listener
	name   string // value of DISPLAY
	dir    string // directory of the cookie file
	cookie string // path of the cookie file, the value of XAUTHORITY
}

// forwardX11 creates a display in the workspace whose windows open at the
// client. (ssh -X) Programs find the client's cookie in a file of the session,
// so xauth is not needed.
func (s *session) forwardX11(payload []byte) bool {
	var p struct {
		Single      bool
		Kind, Token string
		Screen      uint32
	}
	if s.x11 != nil || s.started || ssh.Unmarshal(payload, &p) != nil || len(p.Kind) > 256 || len(p.Token) > 4096 {
		return false
	}
	token, err := hex.DecodeString(p.Token)
	if err != nil {
		return false
	}
	l, number := listenDisplay(s.ctx)
	if l == nil {
		s.log.WarnContext(s.ctx, "no free display for X11 forwarding")
		return false
	}
	dir, err := os.MkdirTemp("", "coder-x11-")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "authority"), authority(number, p.Kind, token), 0o600)
	}
	if err != nil {
		s.log.WarnContext(s.ctx, "cannot write the cookie of an X11 display", "error", err)
		l.Close()
		os.RemoveAll(dir)
		return false
	}
	s.x11 = &display{l: l, dir: dir, cookie: filepath.Join(dir, "authority"), name: fmt.Sprintf("localhost:%d.%d", number, p.Screen)}
	once := p.Single
	s.wait.Go(func() {
		s.acceptLoop(s.ctx, l, "x11", func(nc net.Conn) []byte {
			if once {
				l.Close()
			}
			host, port := "127.0.0.1", 0
			if a, ok := nc.RemoteAddr().(*net.TCPAddr); ok {
				host, port = a.IP.String(), a.Port
			}
			return ssh.Marshal(struct {
				Host string
				Port uint32
			}{host, uint32(port)})
		})
	})
	return true
}

// listenDisplay listens as the first free display.
func listenDisplay(ctx context.Context) (net.Listener, int) {
	for n := firstDisplay; n < lastDisplay && ctx.Err() == nil; n++ {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(firstX11Port+n)))
		if err == nil {
			return l, n
		}
	}
	return nil, 0
}

// authority returns an X authority file with one cookie, for a display of any
// host.
func authority(number int, kind string, token []byte) []byte {
	const anyHost = 0xffff
	b := binary.BigEndian.AppendUint16(nil, anyHost)
	for _, field := range [][]byte{nil, []byte(strconv.Itoa(number)), []byte(kind), token} {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(field))), field...)
	}
	return b
}

// close closes the listener; open windows remain until their programs exit.
func (d *display) close() {
	d.l.Close()
	os.RemoveAll(d.dir)
}
