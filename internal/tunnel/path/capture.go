package path

import (
	"io"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/pcap"
)

// Capture writes all packets to w, encrypted as they travel, until stop is called. After
// stop returns, w is no longer used. A failed write is not retried.
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
