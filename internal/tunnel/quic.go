package tunnel

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/path"
)

const (
	// ServerOutage is the time without any packet from the agent after which a tunnel of a
	// server, a workspace proxy or a tool ends. Their requests wait for the agent.
	ServerOutage = 15 * time.Minute

	// unlimited is the idle timeout of a tunnel that no timeout ends: only memory limits it,
	// see package sleep. QUIC requires a number and uses the lower one of the two ends.
	unlimited = 365 * 24 * time.Hour

	// rareDials is the time without a link after which the relay is dialed less often.
	rareDials = 15 * time.Minute

	keepAlive        = 4 * time.Minute // links and direct paths have their own pings
	handshakeTimeout = 10 * time.Second

	// The protocols are negotiated in TLS. A change that old ends cannot understand needs a
	// new number. With protocol1 only QUIC carries streams.
	protocol1 = "coder-tunnel/1"
	protocol2 = "coder-tunnel/2"

	// Flow control windows start small and grow while a stream is read quickly, up to the need
	// of 1 Gbit/s over 100 ms. A connection may buffer twice that.
	firstStreamWindow = 512 << 10
	maxStreamWindow   = 16 << 20
	firstConnWindow   = 768 << 10
	maxConnWindow     = 32 << 20

	// maxStreams is the maximum number of streams that a client may have open at once.
	maxStreams = 4096
)

// The codes with which a tunnel is closed.
const (
	closedByUser  quic.ApplicationErrorCode = 0
	closedByAgent quic.ApplicationErrorCode = 1
)

// protocols returns the protocols of this end, the best first: some, or all if some is nil.
func protocols(some []string) []string {
	if some != nil {
		return some
	}
	return []string{protocol2, protocol1}
}

// quicConfig returns the configuration of an end. A tunnel ends after idle without any packet;
// 0 means never.
func quicConfig(keepAlive time.Duration, streams int64, idle time.Duration) *quic.Config {
	if idle <= 0 {
		idle = unlimited
	}
	return &quic.Config{
		Versions:                       []quic.Version{quic.Version1},
		HandshakeIdleTimeout:           handshakeTimeout,
		MaxIdleTimeout:                 idle,
		KeepAlivePeriod:                keepAlive,
		InitialStreamReceiveWindow:     firstStreamWindow,
		MaxStreamReceiveWindow:         maxStreamWindow,
		InitialConnectionReceiveWindow: firstConnWindow,
		MaxConnectionReceiveWindow:     maxConnWindow,
		MaxIncomingStreams:             streams,
		MaxIncomingUniStreams:          -1,
		InitialPacketSize:              path.PacketSize,
		EnableDatagrams:                true, // for UDP forwards
		DisablePathMTUDiscovery:        true,
	}
}

// clientTLS returns the TLS configuration of a client. It pins the agent's certificate; name
// and validity period do not matter.
func clientTLS(own tls.Certificate, agent []byte, some []string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		NextProtos:         protocols(some),
		Certificates:       []tls.Certificate{own},
		InsecureSkipVerify: true, // replaced by the pin below
		VerifyPeerCertificate: func(shown [][]byte, _ [][]*x509.Certificate) error {
			return verifyPinned(agent, shown)
		},
	}
}

// agentTLS returns the TLS configuration of an agent. It requires a client certificate and
// verifies it.
func agentTLS(own tls.Certificate, v verifier, some []string, refused func(error)) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             protocols(some),
		Certificates:           []tls.Certificate{own},
		ClientAuth:             tls.RequireAnyClientCert,
		SessionTicketsDisabled: true, // every tunnel must present its certificate
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				return errors.New("no certificate")
			}
			_, err := v.grant(s.PeerCertificates[0])
			if err != nil {
				refused(err)
			}
			return err
		},
	}
}

// connError explains to users why a tunnel ended or could not start.
func connError(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*quic.ApplicationError](err); ok {
		if e.Remote && e.ErrorCode == closedByAgent {
			return codersdk.Errorf(codersdk.CodeUnavailable, "The agent ended the connection: %s", e.ErrorMessage)
		}
		return net.ErrClosed
	}
	if e, ok := errors.AsType[*quic.TransportError](err); ok && e.ErrorCode.IsCryptoError() {
		if e.Remote {
			return codersdk.Errorf(codersdk.CodeForbidden, "The agent refused the certificate of this client").
				WithDetail("the clock of the workspace may be wrong by more than %s", clockSkew).WithCause(err)
		}
		return codersdk.Errorf(codersdk.CodeForbidden, "The agent could not prove who it is").WithCause(err)
	}
	if _, ok := errors.AsType[*quic.IdleTimeoutError](err); ok {
		return codersdk.Errorf(codersdk.CodeUnavailable, "The connection was interrupted for longer than this deployment keeps sessions; connect again").
			WithCause(err)
	}
	if errors.Is(err, context.Canceled) {
		return net.ErrClosed
	}
	return err
}
