// Command cmd measures the coder binary and prints one line per row.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/seed-2a7f8fe7/coder/internal/bench"
	"github.com/seed-2a7f8fe7/coder/internal/bench/plain"
)

func main() {
	c := bench.Config{Out: os.Stdout, Progress: os.Stderr}
	flag.StringVar(&c.Coder, "coder", "bin/coder", "the binary to measure")
	flag.StringVar(&c.Root, "root", ".", "the repository")
	flag.IntVar(&c.Runs, "runs", 9, "runs of each pair")
	what := flag.String("measure", "all", "what to measure: all, access, queue, or dashboard")
	flag.StringVar(&c.Only, "only", "", "the one measurement to make of several, by the name it tells while it runs")
	flag.Parse()
	// What others are measured against, in a process of its own.
	if serve := map[string]func(io.Reader, io.Writer) error{"floor": plain.Echo, "floor-hop": plain.Hop, "floor-pty": plain.PTY, "floor-proxy": plain.Proxy, "floor-tls": bench.TLSServer}[*what]; serve != nil {
		if err := serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	measure, ok := map[string]func(context.Context, bench.Config) error{"all": bench.Run, "access": bench.Access, "queue": bench.Queue, "dashboard": bench.Dashboard}[*what]
	if !ok {
		fmt.Fprintf(os.Stderr, "bench: %q cannot be measured: use all, access, queue or dashboard\n", *what)
		os.Exit(2)
	}
	if err := measure(ctx, c); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
