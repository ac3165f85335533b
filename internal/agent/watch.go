package agent

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Bounds of metadata.
const (
	metadataValueLimit = 2048 // bytes of a value (AG-15)
	metadataTimeout    = 5 * time.Second
)

// collect runs the script of one metadata item, now and at its interval.
// Without an interval it runs once.
func (l *life) collect(ctx context.Context, d *agentrpc.Metadata) {
	interval := time.Duration(d.IntervalSeconds) * time.Second
	for {
		begin := time.Now()
		l.reports.SetMetadata(l.collectOnce(ctx, d))
		if interval <= 0 {
			return
		}
		select {
		case <-time.After(max(0, interval-time.Since(begin))):
		case <-ctx.Done():
			return
		}
	}
}

func (l *life) collectOnce(ctx context.Context, d *agentrpc.Metadata) *agentrpc.MetadataValue {
	timeout := time.Duration(d.TimeoutSeconds) * time.Second
	if timeout <= 0 {
		timeout = max(metadataTimeout, time.Duration(d.IntervalSeconds)*time.Second)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var (
		mu  sync.Mutex
		out bytes.Buffer
	)
	full := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return out.Len() >= metadataValueLimit
	}
	code, status := l.runText(ctx, d.Script, l.environment(), output{enough: full, rest: io.Discard, say: func(_ codersdk.LogLevel, text string) {
		mu.Lock()
		defer mu.Unlock()
		out.WriteString(text + "\n") // exceeds the limit by at most one line
	}})
	mu.Lock()
	defer mu.Unlock()
	v := &agentrpc.MetadataValue{Key: d.Key, CollectedAt: timestamppb.New(l.clock.Now())}
	text := strings.TrimSpace(strings.ToValidUTF8(string(out.Bytes()[:min(out.Len(), metadataValueLimit)]), ""))
	switch status {
	case statusTimedOut:
		v.Error = fmt.Sprintf("the script did not end within %s", timeout)
	case statusExitFailure:
		v.Error = fmt.Sprintf("exit code %d: %s", code, text)
	default:
		v.Value = text
	}
	return v
}

// sendStats reports the usage of the workspace whenever the server requests it,
// until a call fails.
func (a *Agent) sendStats(ctx context.Context, c agentrpc.DRPCAgentClient) error {
	interval := 10 * time.Second
	for {
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			return ctx.Err()
		}
		a.mu.Lock()
		l := a.life
		a.mu.Unlock()
		n := l.ssh.Counts()
		terminals := l.ptys.Watched() + n.ReconnectingPTY
		t := l.listener.Load().Stats()
		direct, relayed := l.listener.Load().Peers()
		call, cancel := context.WithTimeout(ctx, callTimeout)
		resp, err := c.UpdateStats(call, &agentrpc.StatsRequest{
			RxBytes: int64(t.RxBytes), TxBytes: int64(t.TxBytes), RxPackets: int64(t.RxPackets), TxPackets: int64(t.TxPackets),
			ConnectionMedianLatencyMs: float64(t.MedianRTT.Microseconds()) / 1000,
			ConnectionCount:           n.SSH + n.VSCode + n.JetBrains + terminals,
			SessionCountSsh:           n.SSH, SessionCountVscode: n.VSCode, SessionCountJetbrains: n.JetBrains, SessionCountReconnectingPty: terminals,
			PeersDirect: int64(direct), PeersRelayed: int64(relayed),
		})
		cancel()
		if err != nil {
			return fmt.Errorf("report statistics: %w", err)
		}
		interval = max(time.Second, time.Duration(resp.ReportIntervalSeconds)*time.Second)
	}
}
