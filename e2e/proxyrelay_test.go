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
	*faultyNetwork
	cmd     *exec.Cmd
	log     string
	metrics string // address of the metrics
}

// newProxied registers a workspace proxy and runs it until the test ends. The network to
// the proxy delays each chunk of data by delay.
func (r *remote) newProxied(t *testing.T, name string, delay time.Duration, args ...string) *proxied {
	t.Helper()
	token := strings.TrimSpace(r.run(t, "wsproxy", "create", "--name", name, "--only-token"))
	address := testport.FreeAddress(t)
	p := &proxied{faultyNetwork: newFaultyNetwork(t, address), log: filepath.Join(r.dir, name+".log"), metrics: testport.FreeAddress(t)}
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

// relays waits until the proxy relays data.
func (p *proxied) relays(t *testing.T, name string) {
	t.Helper()
	before := p.passed.Load()
	testwait.Until(t, "the workspace proxy "+name+" relays", func() bool { return p.passed.Load() > before+64<<10 })
}

// TestProxiesRelay checks that SSH sessions and a port forward use the nearest workspace
// proxy if the server is far away. When the proxy is killed, they continue over the next
// proxy, and over the server when no proxy is left. All lines must come back once and in
// order.
func TestProxiesRelay(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	near := r.newProxied(t, "near", 0)
	far := r.newProxied(t, "far", 100*time.Millisecond, "--derp-only")
	r.user.delay.Store(int64(300 * time.Millisecond)) // delay to the server, so that both proxies are nearer on any machine

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
			k.waitForEcho(t, after)
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
		k.checkAllEchoed(t)
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
