// Package distance emulates a distant network: packets between a network
// namespace and the rest of the machine are delayed, and some are lost.
package distance

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// Delay is the delay of one direction; the round trip is twice that.
	Delay = 10 * time.Millisecond
	// loss is the fraction of lost packets.
	loss = 0.0001
	// queue is the number of packets queued at the start of the path in each
	// direction.
	queue = 1000

	near = "10.213.77.1"
	// Far is the address at which clients reach the rest of the machine.
	Far = "10.213.77.2"
)

// Path leads to a network namespace for clients, with delay and packet loss.
// The server and the workspace stay outside and are Far for the clients.
type Path struct {
	name string
	ends [2]*os.File
	done sync.WaitGroup
}

// ErrNone reports that this machine cannot emulate a path.
var ErrNone = errors.New("network namespaces and TUN devices need root and /dev/net/tun")

// New creates a path. It requires root, and returns ErrNone if it is not
// possible.
func New(ctx context.Context) (*Path, error) {
	d := &Path{name: fmt.Sprintf("coder-bench-%d", os.Getpid())}
	if out, err := exec.CommandContext(ctx, "ip", "netns", "add", d.name).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrNone, out)
	}
	for i, device := range []string{"near", "far"} {
		name := fmt.Sprintf("cb%s%d", device, os.Getpid()%10000)
		f, err := openTUN(name)
		if err != nil {
			d.Close()
			return nil, fmt.Errorf("%w: %w", ErrNone, err)
		}
		d.ends[i] = f
		in := []string{"ip"}
		own, other := Far, near
		if device == "near" {
			own, other = near, Far
			if err := run(ctx, "ip", "link", "set", name, "netns", d.name); err != nil {
				d.Close()
				return nil, err
			}
			in = []string{"ip", "-n", d.name}
		}
		for _, args := range [][]string{
			{"addr", "add", own, "peer", other, "dev", name},
			{"link", "set", name, "mtu", "1500", "txqueuelen", fmt.Sprint(queue), "up"},
			{"link", "set", "lo", "up"},
		} {
			if err := run(ctx, append(in, args...)...); err != nil {
				d.Close()
				return nil, err
			}
		}
	}
	for i := range d.ends {
		d.done.Go(func() { forward(d.ends[i], d.ends[1-i], uint64(i)) })
	}
	return d, nil
}

func run(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// Command returns the command line that runs a command in the clients'
// namespace.
func (d *Path) Command(args ...string) []string {
	return append([]string{"ip", "netns", "exec", d.name}, args...)
}

// Close removes the path.
func (d *Path) Close() {
	for _, f := range d.ends {
		if f != nil {
			f.Close()
		}
	}
	d.done.Wait()
	exec.Command("ip", "netns", "del", d.name).Run() //nolint:errcheck // best effort
}

// openTUN creates a device whose packets are read and written one at a time.
func openTUN(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	var request [unix.IFNAMSIZ + 24]byte
	copy(request[:unix.IFNAMSIZ-1], name)
	binary.NativeEndian.PutUint16(request[unix.IFNAMSIZ:], unix.IFF_TUN|unix.IFF_NO_PI)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TUNSETIFF, uintptr(unsafe.Pointer(&request))); errno != 0 {
		unix.Close(fd) //nolint:errcheck // the other error says more
		return nil, errno
	}
	return os.NewFile(uintptr(fd), name), nil
}

// packet is a delayed packet.
type packet struct {
	b  []byte
	at time.Time // it arrives
}

// forward carries packets from one device to another until the first is closed,
// with the delay and the loss.
func forward(from, to *os.File, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	under := make(chan packet, 1<<16)
	var done sync.WaitGroup
	defer done.Wait()
	defer close(under)
	buffers := sync.Pool{New: func() any { return new([2048]byte) }}
	done.Go(func() {
		for p := range under {
			if wait := time.Until(p.at); wait > 0 {
				time.Sleep(wait)
			}
			to.Write(p.b) //nolint:errcheck // it is lost
			buffers.Put((*[2048]byte)(p.b[:2048]))
		}
	})
	for {
		b := buffers.Get().(*[2048]byte)
		n, err := from.Read(b[:])
		if err != nil {
			return
		}
		if random.Float64() < loss {
			buffers.Put(b)
			continue
		}
		under <- packet{b[:n], time.Now().Add(Delay)}
	}
}
