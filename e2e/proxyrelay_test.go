package e2e

import (
	"bufio"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/testport"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// proxied is a workspace proxy process and the network to it.
type proxied struct {
	*way
	cmd     *exec.Cmd
	log     string
	metrics string // address
}

// newProxied registers a workspace proxy and runs it until the test ends. Each piece of
// what passes the network to it waits for delay.
func (r *remote) newProxied(t *testing.T, name string, delay time.Duration, args ...string) *proxied {
	t.Helper()
	token := strings.TrimSpace(r.run(t, "wsproxy", "create", "--name", name, "--only-token"))
	address := testport.FreeAddress(t)
	p := &proxied{way: newWay(t, address), log: filepath.Join(r.dir, name+".log"), metrics: testport.FreeAddress(t)}
	p.delay.Store(int64(delay))
	p.cmd = r.start(t, p.log, r.env("CODER_PROXY_SESSION_TOKEN="+token), append([]string{"wsproxy", "server",
		"--primary-access-url", r.agent.url(), "--http-address", address, "--access-url", p.url(),
		"--prometheus-enable", "--prometheus-address", p.metrics}, args...)...)
	healthy := regexp.MustCompile(`(?m)^` + name + ` +ok\s*$`)
	testwait.Until(t, "the workspace proxy "+name+" is healthy", func() bool {
		return healthy.MatchString(r.run(t, "wsproxy", "list", "--column", "name,status"))
	})
	return p
}

// relays waits until more than a few bytes have passed the network.
func (p *proxied) relays(t *testing.T, name string) {
	t.Helper()
	before := p.passed.Load()
	testwait.Until(t, "the workspace proxy "+name+" relays", func() bool { return p.passed.Load() > before+64<<10 })
}

// TestProxiesRelay has SSH sessions and a port forward take the nearest workspace proxy
// although the server is far away, continue at the next one when that is killed, and at
// the server when none is left. What is typed comes back once and in order.
func TestProxiesRelay(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	near := r.newProxied(t, "near", 0)
	far := r.newProxied(t, "far", 100*time.Millisecond, "--derp-only")
	r.user.delay.Store(int64(300 * time.Millisecond)) // of the server: any machine measures that both proxies are nearer

	port, local := echoes(t), testport.Free(t)
	r.background(t, r.bin, "port-forward", "dev", "--tcp", local+":"+port)
	forwarded := dialSoon(t, "tcp", "127.0.0.1:"+local)
	talkers := []*talker{
		r.session(t, "coder ssh", r.bin, "ssh", "dev", "cat"),
		talk("a forwarded connection", closeWriter{forwarded.(*net.TCPConn)}, forwarded),
	}
	all := func(after string) {
		t.Helper()
		for _, k := range talkers {
			k.flows(t, after)
		}
	}
	all("the begin")

	pinging := r.command(r.bin, "ping", "dev", "--wait", "100ms")
	out, err := pinging.StdoutPipe()
	if err == nil {
		err = pinging.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(pinging) })
	seen := make(chan bool, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.Contains(lines.Text(), "through the workspace proxy near in ") {
				seen <- true
				return
			}
		}
	}()
	testwait.Receive(t, "a ping through the nearest workspace proxy", seen)
	kill(pinging)
	near.relays(t, "near")
	all("the move to the nearest proxy")
	testwait.Until(t, "metrics of the relayed bytes", func() bool {
		return relayed.MatchString(metricsOf(t, near.metrics))
	})

	kill(near.cmd)
	all("kill -9 of the proxy")
	far.relays(t, "far")
	all("the move to the next proxy")
	kill(far.cmd)
	all("kill -9 of the last proxy")
	for _, k := range talkers {
		k.ends(t)
	}
	r.user.delay.Store(0)
	r.run(t, "delete", "dev", "--yes")
}

var relayed = regexp.MustCompile(`(?m)^coderd_relay_bytes_total\{to="client"\} [1-9]`)

func metricsOf(t *testing.T, address string) string {
	t.Helper()
	resp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	var b strings.Builder
	if _, err := bufio.NewReader(resp.Body).WriteTo(&b); err != nil {
		t.Error(err)
	}
	return b.String()
}
