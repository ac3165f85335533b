package relay

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzMessage parses arbitrary messages.
func FuzzMessage(f *testing.F) {
	f.Add([]byte("0123456789abcdef\x00\x02ab\x00\x00\x00\x01c"), false)
	f.Add([]byte("attach 00112233445566778899aabbccddeeff 00112233445566778899aabbccddeeff"), true)
	f.Add([]byte("serve 00"), true)
	f.Fuzz(func(t *testing.T, b []byte, text bool) {
		m := &Message{Text: text, Data: b}
		if s, i, err := ParseAttach(m); err == nil && !strings.EqualFold(strings.Join(strings.Fields(string(b)), " "), "attach "+s.String()+" "+Session(i).String()) {
			t.Fatalf("%q was read as %v %v", b, s, i)
		}
		_, _ = ParseServe(m)
		_, packets, err := m.Session()
		if err != nil {
			return
		}
		var again []byte
		for {
			packet, rest, ok := NextPacket(packets)
			if !ok {
				break
			}
			again, packets = AppendPacket(again, packet), rest
		}
		if !bytes.HasPrefix(b[16:], again) {
			t.Fatal("packets changed")
		}
	})
}
