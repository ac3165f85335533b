package operator_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

var update = flag.Bool("update", false, "write the golden files of the charts")

const charts = "../../deploy/charts"

// helm runs what there is of Helm beside the API server; see tools/kube/chart.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cluster.Need(t)
	path := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "chart")
	cmd := exec.CommandContext(t.Context(), path, args...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return "", errors.New(stderr.String())
	}
	return out.String(), nil
}

// TestCharts renders the charts with several values: what comes out is what it
// was, and the API server takes all of it.
func TestCharts(t *testing.T) {
	cluster.Need(t)
	t.Parallel()
	foreign(t)
	ns := cluster.Namespace(t)
	// What admits the pods of charts refuses others.
	root := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "root", Namespace: ns}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	if err := cluster.Client.Create(t.Context(), root, client.DryRunAll); !apierrors.IsForbidden(err) {
		t.Fatalf("a pod that may be root was admitted: %v", err)
	}
	// Long files, which the golden ones need not repeat.
	local := "coder.serviceAccount.workspaceNamespaces=null" // there are no other namespaces
	more := map[string]string{
		"coder": local + ",coder.prometheusRule.enable=true,coder.grafanaDashboard.enable=true", "coder-provisioner": local, "coder-operator": "namespaces=null",
	}
	for values, chart := range map[string]string{
		"coder-default": "coder", "coder-full": "coder", "coder-proxy": "coder", "coder-monitored": "coder", "coder-gateway": "coder",
		"coder-provisioner-key": "coder-provisioner", "coder-provisioner-psk": "coder-provisioner", "coder-provisioner-keda": "coder-provisioner", "coder-provisioner-tls": "coder-provisioner",
		"coder-operator-default": "coder-operator", "coder-operator-limited": "coder-operator",
	} {
		file := filepath.Join(charts, "testdata", values+".yaml")
		if _, err := helm(t, "lint", filepath.Join(charts, chart), "-f", file); err != nil {
			t.Errorf("%s: %v", values, err)
		}
		out, err := helm(t, "template", chart, filepath.Join(charts, chart), "--namespace", "coder", "-f", file)
		if err != nil {
			t.Errorf("%s: %v", values, err)
			continue
		}
		golden := filepath.Join(charts, "testdata", values+".golden")
		if *update {
			must(t, os.WriteFile(golden, []byte(out), 0o600))
		}
		want, err := os.ReadFile(golden)
		must(t, err)
		if string(want) != out {
			t.Errorf("%s: the chart renders otherwise than %s; run the test with -update and look at the difference", values, golden)
		}
		out, err = helm(t, "template", chart, filepath.Join(charts, chart), "--namespace", ns, "-f", file, "--set", more[chart])
		must(t, err)
		dryRun(t, values, out)
	}
	for _, file := range []string{"deployment.yaml", "roles.yaml", "monitoring/servicemonitor.yaml", "aggregation/deployment.yaml", "mcp/deployment.yaml"} {
		b, err := os.ReadFile(filepath.Join("../../deploy/operator", file))
		must(t, err)
		dryRun(t, "deploy/operator/"+file, string(b))
	}
}

// foreign installs the resources of others that the charts make: of the
// Prometheus operator and of KEDA, as these publish them.
func foreign(t *testing.T) {
	t.Helper()
	_, err := envtest.InstallCRDs(cluster.Rest, envtest.CRDInstallOptions{
		Paths: []string{filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "crd")}, ErrorIfPathMissing: true,
	})
	must(t, err)
}

// dryRun has the API server check every object of a text, and admit the pods of
// every Deployment.
func dryRun(t *testing.T, name, text string) {
	t.Helper()
	d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		u := &unstructured.Unstructured{}
		err := d.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return
		}
		must(t, err)
		if len(u.Object) == 0 || u.GetKind() == "HTTPRoute" { // TestEverythingIsTaken has that kind
			continue
		}
		err = cluster.Client.Create(t.Context(), u, client.DryRunAll, client.FieldValidation("Strict"))
		if err != nil && !apierrors.IsAlreadyExists(err) { // the cluster has the operator's roles
			t.Errorf("%s: %s %s: %v", name, u.GetKind(), u.GetName(), err)
		}
		if u.GetKind() == "Deployment" {
			d := &appsv1.Deployment{}
			must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, d))
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: d.Namespace}, Spec: d.Spec.Template.Spec}
			if err := cluster.Client.Create(t.Context(), p, client.DryRunAll); err != nil {
				t.Errorf("%s: a pod of %s: %v", name, d.Name, err)
			}
		}
	}
}

// TestChartRefusals renders charts with values that make no sense.
func TestChartRefusals(t *testing.T) {
	cluster.Need(t)
	t.Parallel()
	for _, c := range []struct{ chart, set, want string }{
		{"coder-provisioner", "provisionerDaemon.pskSecretName=", "must be specified"},
		{"coder-provisioner", "provisionerDaemon.keySecretName=k,provisionerDaemon.tags.a=b", "a key has its own tags"},
		{"coder-provisioner", "provisionerDaemon.concurrency=0", "concurrency"},
		{"coder-provisioner", "provisionerDaemon.pskSecret=typo", "additional properties 'pskSecret' not allowed"},
		{"coder-provisioner", "coder.autoscaling.enable=true", "serverURL"},
		{"coder-provisioner", "coder.autoscaling.enable=true,coder.autoscaling.serverURL=http://c", "tokenSecretName"},
		{"coder-provisioner", "coder.autoscaling.enable=true,coder.autoscaling.serverURL=http://c,coder.autoscaling.tokenSecretName=t,coder.autoscaling.minReplicas=11", "minReplicas must not be above"},
		{"coder", "coder.replicacount=2", "additional properties 'replicacount' not allowed"},
		{"coder", "coder.image.pullPolicy=Sometimes", "pullPolicy"},
		{"coder", "coder.env[0].value=x", "missing property 'name'"},
		{"coder", "coder.serviceMonitor.interval=soon", "interval"},
		{"coder", "coder.autoscaling.enable=true", "resources.requests.cpu"},
		{"coder", "coder.autoscaling.enable=true,coder.resources.requests.cpu=1,coder.autoscaling.maxReplicas=1", "minReplicas must not be above"},
		{"coder", "coder.replicaCount=-1", "replicaCount"},
		{"coder", "coder.service.type=Wrong", "type"},
		{"coder", "coder.ingress.enable=true", "host"},
		{"coder", "coder.httproute.enable=true,coder.httproute.host=coder.example.com", "parentRefs"},
		{"coder", "coder.serviceAccount.workspaceNamespaces[0].perms=true", "name"},
		{"coder", "coder.image.repo=", "build it with `make image`"},
		{"coder-provisioner", "coder.image.repo=", "build it with `make image`"},
		{"coder-operator", "image.repo=", "build it with `make operator-image`"},
		{"coder-operator", "namespace=coder", "additional properties 'namespace' not allowed"},
	} {
		set := "coder.image.repo=coder," + c.set
		if c.chart == "coder-operator" {
			set = "image.repo=coder-operator," + c.set
		}
		if _, err := helm(t, "template", "x", filepath.Join(charts, c.chart), "--set", set); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.set, err)
		}
	}
	a, err := os.ReadFile(filepath.Join(charts, "coder/templates/_coder.tpl"))
	must(t, err)
	b, err := os.ReadFile(filepath.Join(charts, "coder-provisioner/templates/_coder.tpl"))
	must(t, err)
	if !bytes.Equal(a, b) {
		t.Error("the two charts no longer share _coder.tpl: copy one over the other")
	}
}

// TestChartOfOperator compares the manifests of the operator's chart with those of
// deploy/operator and deploy/crd. Helm reads files of the chart only, and symbolic
// links do not survive every archive and checkout.
func TestChartOfOperator(t *testing.T) {
	chart := filepath.Join(charts, "coder-operator")
	copies := map[string]string{"servicemonitor.yaml": "operator/monitoring/servicemonitor.yaml"}
	for _, f := range []string{
		"rbac.yaml", "deployment.yaml", "roles.yaml", "aggregation/rbac.yaml", "aggregation/deployment.yaml", "aggregation/apiservice.yaml",
		"mcp/rbac.yaml", "mcp/deployment.yaml",
	} {
		copies[f] = "operator/" + f
	}
	definitions, err := filepath.Glob("../../deploy/crd/coder.com_*.yaml")
	must(t, err)
	for _, f := range definitions {
		copies["crds/"+filepath.Base(f)] = "crd/" + filepath.Base(f)
	}
	if len(definitions) != 3 {
		t.Errorf("deploy/crd has the definitions %v", definitions)
	}
	for to, from := range copies {
		want, err := os.ReadFile(filepath.Join("../../deploy", from))
		must(t, err)
		got, err := os.ReadFile(filepath.Join(chart, to))
		must(t, err)
		if !bytes.Equal(got, want) {
			t.Errorf("deploy/charts/coder-operator/%s differs from deploy/%s: run make chart", to, from)
		}
	}
}
