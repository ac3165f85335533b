package embedded_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/embedded"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// TestThreadOfTheCaller checks that a cluster outlives the thread that called Start.
// The kernel sends the parent death signal when the thread that started the child
// ends, not the process.
func TestThreadOfTheCaller(t *testing.T) {
	c := config(tempDir(t))
	clusters, threads := make(chan *embedded.Cluster, 1), make(chan int, 1)
	started := make(chan struct{})
	var startOnThread func()
	startOnThread = func() { // locked to a thread that ends with this function
		runtime.LockOSThread()
		if syscall.Gettid() == os.Getpid() { // the main thread never ends, so use another thread
			go startOnThread()
			<-started
			return
		}
		cl, err := embedded.Start(t.Context(), c)
		if err != nil {
			t.Error(err)
		}
		clusters <- cl
		threads <- syscall.Gettid()
		close(started)
	}
	go startOnThread()
	cl := testwait.Receive(t, "a cluster", clusters)
	thread := testwait.Receive(t, "its thread", threads)
	if cl == nil {
		return
	}
	defer stop(t, cl)
	testwait.Until(t, "the thread has ended", func() bool {
		_, err := os.Stat(filepath.Join("/proc/self/task", strconv.Itoa(thread)))
		return os.IsNotExist(err)
	})
	for range 20 { // PostgreSQL may need a moment to act on a signal
		if got := query(t, cl.URL(), "SELECT 1"); got != "1" {
			t.Fatalf("the cluster answers %q", got)
		}
	}
}
