// Command chart runs the Helm functions that `make test-kube` needs, with
// Helm's packages:
//
//	chart lint DIRECTORY [flags]            as helm lint --strict
//	chart template NAME DIRECTORY [flags]   as helm template
//
// Helm itself, with which `make test-cluster` installs charts, takes six times
// as long to compile.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/strvals"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: chart lint DIRECTORY [flags], or chart template NAME DIRECTORY [flags]; the flags are --namespace, --values (-f) and --set")

func run(args []string, out io.Writer) error {
	names := 2 // what comes before the flags
	if len(args) > 0 && args[0] == "template" {
		names = 3
	}
	if len(args) < names {
		return errUsage
	}
	namespace, vals := "default", chartutil.Values{}
	f := flag.NewFlagSet("chart", flag.ContinueOnError)
	f.StringVar(&namespace, "namespace", namespace, "namespace of the release")
	file := func(path string) (err error) { vals, err = chartutil.ReadValuesFile(path); return err }
	f.Func("values", "a file with values", file)
	f.Func("f", "same as --values", file)
	f.Func("set", "values such as a.b=c,d=e, which override the file", func(s string) error { return strvals.ParseInto(s, vals) })
	if err := f.Parse(args[names:]); err != nil {
		return err
	}
	switch {
	case f.NArg() > 0:
		return errUsage
	case args[0] == "lint":
		return check(args[1], vals, namespace)
	case args[0] == "template":
		return render(out, args[1], args[2], vals, namespace)
	}
	return errUsage
}

// check returns the warnings about a chart.
func check(dir string, vals chartutil.Values, namespace string) error {
	var wrong []error
	for _, m := range lint.All(dir, vals, namespace, true).Messages {
		if m.Severity >= support.WarningSev {
			wrong = append(wrong, m)
		}
	}
	return errors.Join(wrong...)
}

// render writes the objects of a chart for a new release, in installation
// order.
func render(out io.Writer, name, dir string, vals chartutil.Values, namespace string) error {
	c, err := loader.Load(dir)
	if err != nil {
		return err
	}
	if err := chartutil.ProcessDependenciesWithMerge(c, vals); err != nil {
		return err
	}
	all, err := chartutil.ToRenderValues(c, vals, chartutil.ReleaseOptions{
		Name:      name,
		Namespace: namespace,
		Revision:  1,
		IsInstall: true,
	}, chartutil.DefaultCapabilities)
	if err != nil {
		return err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return err
	}
	for path := range files {
		if strings.HasSuffix(path, "NOTES.txt") {
			delete(files, path)
		}
	}
	hooks, objects, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, o := range objects {
		fmt.Fprintf(&b, "---\n# Source: %s\n%s\n", o.Name, o.Content)
	}
	text := strings.TrimSpace(b.String()) + "\n"
	for _, h := range hooks {
		text += fmt.Sprintf("---\n# Source: %s\n%s\n", h.Path, h.Manifest)
	}
	_, err = io.WriteString(out, text)
	return err
}
