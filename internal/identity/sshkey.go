package identity

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"math/big"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// CheckSSHKeyAlgorithm refuses algorithms that git key pairs cannot have.
func CheckSSHKeyAlgorithm(name string) error {
	switch name {
	case "", "ed25519", "ecdsa", "rsa4096":
		return nil
	}
	return coder.Invalid("ssh-keygen-algorithm", "%.40q is none of: ed25519, ecdsa, rsa4096", name)
}

// newSSHKey makes a key pair: the public half as a line of authorized_keys,
// the private one as OpenSSH reads it. (AU-18)
func newSSHKey(algorithm string) (public, private string, err error) {
	if err := CheckSSHKeyAlgorithm(algorithm); err != nil {
		return "", "", err
	}
	switch algorithm {
	case "ecdsa":
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return "", "", err
		}
		point, err := key.PublicKey.Bytes()
		if err != nil {
			return "", "", err
		}
		return publicLine("ecdsa-sha2-nistp256", []byte("nistp256"), point), pkcs8(key), nil
	case "rsa4096":
		key, err := rsa.GenerateKey(rand.Reader, 4096)
		if err != nil {
			return "", "", err
		}
		return publicLine("ssh-rsa", mpint(big.NewInt(int64(key.E))), mpint(key.N)), pkcs8(key), nil
	}
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", "", err
	}
	return publicLine("ssh-ed25519", pub), openSSH(pub, key), nil
}

// wire writes fields as SSH does: each after its length.
func wire(fields ...[]byte) []byte {
	var b []byte
	for _, f := range fields {
		b = binary.BigEndian.AppendUint32(b, uint32(len(f)))
		b = append(b, f...)
	}
	return b
}

// mpint writes a positive number as SSH does.
func mpint(n *big.Int) []byte {
	b := n.Bytes()
	if len(b) > 0 && b[0]&0x80 != 0 {
		b = append([]byte{0}, b...)
	}
	return b
}

func publicLine(kind string, fields ...[]byte) string {
	blob := wire(append([][]byte{[]byte(kind)}, fields...)...)
	return kind + " " + base64.StdEncoding.EncodeToString(blob) + "\n"
}

func pkcs8(key crypto.PrivateKey) string {
	b, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err) // the two kinds above are known to it
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: b}))
}

// openSSH writes an ed25519 key in OpenSSH's own format (PROTOCOL.key): PKCS#8
// of this kind is unknown to older versions of it.
func openSSH(pub ed25519.PublicKey, key ed25519.PrivateKey) string {
	var check [4]byte
	rand.Read(check[:]) //nolint:errcheck // documented never to fail
	secret := append(append([]byte{}, check[:]...), check[:]...)
	secret = append(secret, wire([]byte("ssh-ed25519"), pub, key, nil)...)
	for i := byte(1); len(secret)%8 != 0; i++ {
		secret = append(secret, i)
	}
	b := []byte("openssh-key-v1\x00")
	b = append(b, wire([]byte("none"), []byte("none"), nil)...)
	b = binary.BigEndian.AppendUint32(b, 1)
	b = append(b, wire(wire([]byte("ssh-ed25519"), pub), secret)...)
	return string(pem.EncodeToMemory(&pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: b}))
}

// GitSSHKey gives the public half of a user's git key pair.
func (s *Service) GitSSHKey(ctx context.Context, actor access.Subject, ref string) (coder.GitSSHKey, error) {
	u, err := s.userRow(ctx, s.c.Store.Queries, actor, ref)
	if err != nil {
		return coder.GitSSHKey{}, err
	}
	if err := actor.Check(coder.RBACActionReadPersonal, userObject(u.ID)); err != nil {
		return coder.GitSSHKey{}, err
	}
	return gitSSHKey(u), nil
}

// RegenerateGitSSHKey makes a new key pair for a user; the old one is gone.
func (s *Service) RegenerateGitSSHKey(ctx context.Context, actor access.Subject, ref string) (coder.GitSSHKey, error) {
	public, private, err := newSSHKey(s.c.SSHKeyAlgorithm)
	if err != nil {
		return coder.GitSSHKey{}, err
	}
	var out coder.GitSSHKey
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		u, err := s.userRow(ctx, q, actor, ref)
		if err != nil {
			return err
		}
		if err := actor.Check(coder.RBACActionUpdatePersonal, userObject(u.ID)); err != nil {
			return err
		}
		if err := protectOwner(actor, u); err != nil {
			return err
		}
		row, err := q.UpdateUserSSHKey(ctx, sqlc.UpdateUserSSHKeyParams{ID: u.ID, SshPublicKey: public, SshPrivateKey: private, Now: s.now()})
		if err != nil {
			return err
		}
		out = gitSSHKey(row)
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeGitSSHKey, ResourceID: u.ID, Target: u.Username,
			Diff: audit.Diff(gitSSHKey(u), out),
		})
	})
	return out, err
}

// SSHKeyPair gives both halves of a user's git key pair, for the agents of the
// user's own workspaces. The caller has authenticated such an agent.
func (s *Service) SSHKeyPair(ctx context.Context, userID uuid.UUID) (public, private string, err error) {
	u, err := s.c.Store.UserByID(ctx, userID)
	if err != nil {
		return "", "", fmt.Errorf("find owner of git key: %w", err)
	}
	return u.SshPublicKey, u.SshPrivateKey, nil
}

func gitSSHKey(u sqlc.User) coder.GitSSHKey {
	k := coder.GitSSHKey{UserID: u.ID, PublicKey: u.SshPublicKey, CreatedAt: u.CreatedAt, UpdatedAt: u.CreatedAt}
	if u.SshKeyUpdatedAt != nil {
		k.UpdatedAt = *u.SshKeyUpdatedAt
	}
	return k
}
