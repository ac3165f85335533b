package operator_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aggregation "github.com/seed-2a7f8fe7/coder/api/aggregation/v1alpha1"
	"github.com/seed-2a7f8fe7/coder/api/v1alpha1"
)

const pages = "../../docs/kubernetes"

// block is a fenced block of a page.
type block struct{ language, text string }

var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// blocks returns the fenced blocks of each page.
func blocks(t *testing.T) map[string][]block {
	t.Helper()
	files, err := filepath.Glob(pages + "/*.md")
	must(t, err)
	out := map[string][]block{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		must(t, err)
		for _, m := range fence.FindAllStringSubmatch(string(b), -1) {
			out[filepath.Base(file)] = append(out[filepath.Base(file)], block{m[1], m[2]})
		}
	}
	return out
}

// TestDocumentedManifests has the API server check every manifest of the pages,
// as kubectl apply --dry-run=server does. Parts of a manifest are put where the
// page means them, and the charts render the values of the pages.
func TestDocumentedManifests(t *testing.T) {
	cluster.Need(t)
	t.Parallel()
	foreign(t)
	ns := cluster.Namespace(t)
	n := 0
	for page, all := range blocks(t) {
		var last map[string]any
		for _, b := range all {
			if b.language != "yaml" {
				continue
			}
			d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(b.text), 4096)
			for {
				var o map[string]any
				if err := d.Decode(&o); err == io.EOF { //nolint:errorlint // the decoder returns it as it is
					break
				} else if err != nil {
					t.Fatalf("%s: %v in\n%s", page, err, b.text)
				}
				n++
				if o["kind"] != nil {
					last = o
				}
				checkManifest(t, page, ns, o, last)
			}
		}
	}
	if n < 10 {
		t.Errorf("the pages have %d manifests", n)
	}
}

// checkManifest checks a manifest, or the part of one that belongs to the last
// manifest of its page.
func checkManifest(t *testing.T, page, ns string, o, last map[string]any) {
	t.Helper()
	switch {
	case o["schedule"] != nil:
		must(t, unstructured.SetNestedField(last, o["schedule"], "spec", "autoscaling", "schedule"))
		o = last
	case o["data"] != nil && o["kind"] == nil: // of Argo CD's ConfigMap
		o["apiVersion"], o["kind"], o["metadata"] = "v1", "ConfigMap", map[string]any{"name": "argocd-cm"}
	case o["coder"] != nil:
		file := filepath.Join(t.TempDir(), "values.yaml")
		b, err := json.Marshal(o)
		must(t, err)
		must(t, os.WriteFile(file, b, 0o600))
		for _, chart := range []string{"coder", "coder-provisioner"} { // the page installs both with these values
			out, err := helm(t, "template", chart, filepath.Join(charts, chart), "--namespace", ns, "-f", file)
			if err != nil {
				t.Errorf("%s: %v", page, err)
			}
			dryRun(t, page, out)
		}
		return
	}
	u := &unstructured.Unstructured{Object: o}
	switch u.GroupVersionKind().Group {
	case "argoproj.io", "kustomize.toolkit.fluxcd.io":
		return // their definitions are not at hand
	case "aggregation.coder.com": // TestKubectl and TestApplyTwice apply these kinds
		b, err := json.Marshal(o)
		must(t, err)
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		var into any = &aggregation.CoderWorkspace{}
		if u.GetKind() == "CoderTemplate" {
			into = &aggregation.CoderTemplate{}
		}
		if err := d.Decode(into); err != nil {
			t.Errorf("%s: %s: %v", page, u.GetKind(), err)
		}
		return
	}
	u.SetNamespace(ns)
	if err := cluster.Client.Create(t.Context(), u.DeepCopy(), client.DryRunAll, client.FieldValidation("Strict")); err != nil {
		t.Errorf("%s: %s %s: %v", page, u.GetKind(), u.GetName(), err)
	}
}

// commands returns the commands of a page's shell blocks as words, without
// comments.
func commands(t *testing.T, all []block) [][]string {
	t.Helper()
	var out [][]string
	for _, b := range all {
		if b.language != "sh" && b.language != "console" {
			continue
		}
		for line := range strings.SplitSeq(strings.ReplaceAll(b.text, "\\\n", " "), "\n") {
			if b.language == "console" {
				var ok bool
				if line, ok = strings.CutPrefix(line, "$ "); !ok {
					continue // what the command prints
				}
			}
			line, _, _ = strings.Cut(line, " #")
			if words := strings.Fields(strings.Trim(line, "()")); len(words) > 0 {
				out = append(out, words)
			}
		}
	}
	return out
}

// TestDocumentedCommands checks what commands of the pages name: files and
// directories of the repository, targets of make, values of charts, and
// conditions.
func TestDocumentedCommands(t *testing.T) {
	cluster.Need(t)
	t.Parallel()
	makefile, err := os.ReadFile("../../Makefile")
	must(t, err)
	n := 0
	for page, all := range blocks(t) {
		for _, words := range commands(t, all) {
			n++
			line := strings.Join(words, " ")
			for _, word := range words {
				if _, err := os.Stat("../../" + strings.Trim(word, ",")); strings.HasPrefix(word, "deploy/") && err != nil {
					t.Errorf("%s: %s: %v", page, line, err)
				}
			}
			switch words[0] {
			case "make":
				if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(words[1]) + `:`).Match(makefile) {
					t.Errorf("%s: %s: make has no such target", page, line)
				}
			case "helm":
				checkHelm(t, page, words)
			case "kubectl":
				checkWait(t, page, line)
			}
		}
	}
	if n < 20 {
		t.Errorf("the pages have %d commands", n)
	}
}

// checkHelm renders the chart of a helm command with its values.
func checkHelm(t *testing.T, page string, words []string) {
	t.Helper()
	if len(words) < 4 || (words[1] != "install" && words[1] != "upgrade") {
		t.Errorf("%s: %v is not an installation", page, words)
		return
	}
	args := []string{"template", words[2], "../../" + words[3], "--set", "image.repo=coder-operator"}
	if !strings.HasSuffix(words[3], "/coder-operator") { // the file values.yaml of the page
		args[4] = "coder.image.repo=coder"
	}
	for i, w := range words {
		if w == "--set" {
			args = append(args, "--set", words[i+1])
		}
	}
	if _, err := helm(t, args...); err != nil {
		t.Errorf("%s: %v: %v", page, words, err)
	}
}

// conditionsOf are the conditions that kubectl wait can name.
var conditionsOf = map[string][]string{
	"codercontrolplane":   {v1alpha1.ConditionReady, v1alpha1.ConditionAvailable, v1alpha1.ConditionOperatorAccessReady, v1alpha1.ConditionRBACReady},
	"coderprovisioner":    {v1alpha1.ConditionReady, v1alpha1.ConditionProvisionerKeyReady, v1alpha1.ConditionDeploymentReady},
	"coderworkspaceproxy": {v1alpha1.ConditionReady, v1alpha1.ConditionRegistered, v1alpha1.ConditionDeploymentReady},
}

var waits = regexp.MustCompile(`wait (\w+)/\S+ --for=condition=(\w+)`)

// checkWait checks the condition that kubectl wait names.
func checkWait(t *testing.T, page, line string) {
	t.Helper()
	m := waits.FindStringSubmatch(line)
	if strings.Contains(line, "--for=condition") && !strings.Contains(line, "apiservice") && (m == nil || !slices.Contains(conditionsOf[m[1]], m[2])) {
		t.Errorf("%s: %s: that kind has no such condition", page, line)
	}
}
