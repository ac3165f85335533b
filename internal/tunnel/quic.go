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
	// ServerOutage is how long a tunnel lives without any packet from the agent where
	// requests wait for it: of servers, workspace proxies and tools.
	ServerOutage = 15 * time.Minute

	// unlimited is the idle timeout of a tunnel that no time ends: memory does, see
	// package sleep. QUIC wants a number, and takes the lower one of the two ends.
	unlimited = 365 * 24 * time.Hour

	// rareDials is after which time without a link the relay is dialed less often.
	rareDials = 15 * time.Minute

	keepAlive        = 4 * time.Minute // links and direct paths are watched by pings of their own
	handshakeTimeout = 10 * time.Second

	// The protocols are negotiated in TLS; a change that old ends cannot understand
	// takes another number. In the first one QUIC alone carries streams.
	protocol1 = "coder-tunnel/1"
	protocol2 = "coder-tunnel/2"

	// Flow control begins with little and grows while a stream is read quickly,
	// up to what 1 Gbit/s over 100 ms needs, with room for twice that in all.
	firstStreamWindow = 512 << 10
	maxStreamWindow   = 16 << 20
	firstConnWindow   = 768 << 10
	maxConnWindow     = 32 << 20

	// maxStreams is how many streams a client may have open at once.
	maxStreams = 4096
)

// The codes with which a tunnel is closed.
const (
	closedByUser  quic.ApplicationErrorCode = 0
	closedByAgent quic.ApplicationErrorCode = 1
)

// protocols returns those that this end speaks, the best first: some, or all.
func protocols(some []string) []string {
	if some != nil {
		return some
	}
	return []string{protocol2, protocol1}
}

// quicConfig returns the configuration of an end that ends a tunnel after a time without
// any packet; 0 means none.
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
		EnableDatagrams:                true, // of UDP forwards
		DisablePathMTUDiscovery:        true,
	}
}

// clientTLS pins the agent; its name and time do not matter.
func clientTLS(own tls.Certificate, agent []byte, some []string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		NextProtos:         protocols(some),
		Certificates:       []tls.Certificate{own},
		InsecureSkipVerify: true, // replaced by the pin below
		VerifyPeerCertificate: func(shown [][]byte, _ [][]*x509.Certificate) error {
			return pinned(agent, shown)
		},
	}
}

// agentTLS asks for a client certificate and has it verified.
func agentTLS(own tls.Certificate, v verifier, some []string, refused func(error)) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             protocols(some),
		Certificates:           []tls.Certificate{own},
		ClientAuth:             tls.RequireAnyClientCert,
		SessionTicketsDisabled: true, // every tunnel shows its certificate
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
