package path

import (
	"io"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/pcap"
)

// Capture writes all packets to w, as they travel: encrypted, until stop is called,
// after which w is no longer used. A write that fails is not tried again.
func (p *Path) Capture(w io.Writer) (stop func(), err error) {
	k, err := pcap.New(w)
	if err != nil {
		return nil, err
	}
	p.capture.Store(k)
	return func() {
		p.capture.CompareAndSwap(k, nil)
		k.Stop()
	}, nil
}
