// Command cmd measures the coder binary and prints one line per row.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/seed-2a7f8fe7/coder/internal/bench"
)

func main() {
	c := bench.Config{Out: os.Stdout}
	flag.StringVar(&c.Coder, "coder", "bin/coder", "the binary to measure")
	flag.StringVar(&c.Root, "root", ".", "the repository")
	flag.IntVar(&c.Runs, "runs", 9, "runs of each pair")
	slots := flag.Bool("slots", false, "measure one provisioner of several slots instead")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	measure := bench.Run
	if *slots {
		measure = bench.Slots
	}
	if err := measure(ctx, c); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
