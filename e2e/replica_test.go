package e2e

import (
	"math/rand/v2"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/testport"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// replicaKills is how often TestKilledReplica kills a server.
const replicaKills = 5

// TestKilledReplica repeatedly kills a random one of two servers with kill -9. Sessions,
// terminals, forwarded ports and apps must continue over the other server.
func TestKilledReplica(t *testing.T) {
	t.Parallel()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	f := newFleet(t, bin)
	r := f.prepare(t)
	port, local := echoes(t), testport.Free(t)
	r.background(t, r.bin, "port-forward", "dev", "--tcp", local+":"+port)
	forwarded := dialSoon(t, "tcp", "127.0.0.1:"+local)
	talkers := []*talker{
		r.session(t, "coder ssh", r.bin, "ssh", "dev", "cat"),
		talk("a forwarded connection", closeWriter{forwarded.(*net.TCPConn)}, forwarded),
		r.webTerminal(t),
	}
	token := r.token(t)
	all := func(after string) {
		t.Helper()
		for _, k := range talkers {
			k.waitForEcho(t, after)
		}
		client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
		testwait.Until(t, "the app answers after "+after, func() bool {
			return get(client, r.user.url()+"/@admin/dev/apps/echo/", token) == nil
		})
	}
	all("the beginning")
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	for range replicaKills {
		i := random.IntN(len(f.replicas))
		testwait.Pause(time.Duration(random.IntN(1000)) * time.Millisecond)
		kill(f.replicas[i].cmd)
		all("kill -9 of a replica")
		f.serve(t, i, bin)
		all("its start")
	}
	for _, k := range talkers {
		k.checkAllEchoed(t)
	}
}
