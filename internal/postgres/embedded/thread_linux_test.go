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

// TestThreadOfTheCaller checks that a cluster outlives the thread of its starter. The kernel
// sends the signal for the death of a parent when the thread that started the child ends.
func TestThreadOfTheCaller(t *testing.T) {
	c := config(tempDir(t))
	clusters, threads := make(chan *embedded.Cluster, 1), make(chan int, 1)
	begun := make(chan struct{})
	var begin func()
	begin = func() { // on a thread that ends with it
		runtime.LockOSThread()
		if syscall.Gettid() == os.Getpid() { // the main thread never ends; the next one is another
			go begin()
			<-begun
			return
		}
		cl, err := embedded.Start(t.Context(), c)
		if err != nil {
			t.Error(err)
		}
		clusters <- cl
		threads <- syscall.Gettid()
		close(begun)
	}
	go begin()
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
