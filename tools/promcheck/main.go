// Promcheck checks the alert rules and the Grafana dashboards of a server with
// the library of Prometheus: every expression asks for metrics, labels and
// values of the catalog, evaluates without an error or a warning, and every
// alert passes its unit tests.
//
//	promcheck -metrics CATALOG FILE...
//	promcheck -scrapes DIRECTORY [-divide-for N] RULES
//
// Files are dashboards (.json), unit tests in the form of `promtool test rules`
// (_test.yaml) and rules (other .yaml).
//
// The second form evaluates rules on recorded scrapes of a server and prints, as
// JSON, which alerts were pending or firing. The name of each scrape is its Unix
// time in milliseconds. -divide-for divides the time for which an alert must be
// pending before it fires, so that a short recording is enough.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	path := flag.String("metrics", "", "the catalog of metrics")
	scrapes := flag.String("scrapes", "", "directory of recorded scrapes")
	divide := flag.Int("divide-for", 1, "what to divide the times by for which alerts are pending")
	flag.Parse()
	if *scrapes != "" && flag.NArg() == 1 && *divide > 0 {
		if err := printReplay(*scrapes, flag.Arg(0), *divide); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if *path == "" || flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: promcheck -metrics CATALOG FILE..., or promcheck -scrapes DIRECTORY [-divide-for N] RULES")
		os.Exit(2)
	}
	if err := run(*path, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// printReplay prints the alerts of recorded scrapes.
func printReplay(scrapes, path string, divide int) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	rules, err := parseRules(b)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r, err := readScrapes(scrapes)
	if err != nil {
		return err
	}
	all, err := r.replay(rules, divide)
	if err != nil {
		return err
	}
	if all == nil {
		all = []period{}
	}
	return json.NewEncoder(os.Stdout).Encode(all)
}

func run(path string, files []string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	c, err := readCatalog(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var all []error
	tests, boards := &tests{}, boards{}
	var alerts []rule
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		var found []rule
		switch {
		case strings.HasSuffix(f, ".json"):
			err = boards.check(c, b)
		case strings.HasSuffix(f, "_test.yaml"):
			err = tests.run(f, b)
		default:
			found, err = checkRules(c, b)
		}
		if err != nil {
			all = append(all, fmt.Errorf("%s: %w", f, err))
		}
		alerts = append(alerts, found...)
	}
	return errors.Join(append(all, tests.covers(alerts))...)
}
