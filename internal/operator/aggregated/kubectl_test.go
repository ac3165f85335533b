package aggregated_test

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/operator/kubetest"
)

// kubectl is the real one, signed in to the cluster.
type kubectl struct {
	t       *testing.T
	program string
	args    []string
}

// newKubectl finds kubectl beside the API server or on the path.
func (w *town) newKubectl(t *testing.T) *kubectl {
	t.Helper()
	program := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	if _, err := os.Stat(program); err != nil {
		if program, err = exec.LookPath("kubectl"); err != nil {
			t.Skip("there is no kubectl here: tools/kube/setup cluster builds one")
		}
	}
	r := cluster.Rest
	file := filepath.Join(t.TempDir(), "config")
	must(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"c": {Server: r.Host, CertificateAuthorityData: r.CAData, TLSServerName: r.ServerName}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"u": {
			ClientCertificateData: r.CertData, ClientKeyData: r.KeyData, Token: r.BearerToken, Username: r.Username, Password: r.Password,
		}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u", Namespace: w.ns}},
		CurrentContext: "x",
	}, file))
	return &kubectl{t: t, program: program, args: []string{"--kubeconfig", file, "--cache-dir", t.TempDir()}}
}

func (k *kubectl) command(ctx context.Context, stdin string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, k.program, append(append([]string{}, k.args...), args...)...)
	c.Stdin = strings.NewReader(stdin)
	return c
}

// run returns what kubectl prints, errors and warnings too.
func (k *kubectl) run(stdin string, args ...string) (string, error) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), time.Minute)
	defer cancel()
	b, err := k.command(ctx, stdin, args...).CombinedOutput()
	return string(b), err
}

// says runs kubectl, which must do it and say all of the words.
func (k *kubectl) says(words []string, stdin string, args ...string) {
	k.t.Helper()
	out, err := k.run(stdin, args...)
	for _, word := range words {
		if err != nil || !strings.Contains(out, word) {
			k.t.Fatalf("kubectl %s: %v, want %q of\n%s", strings.Join(args, " "), err, word, out)
		}
	}
}

const manifest = `apiVersion: aggregation.coder.com/v1alpha1
kind: CoderWorkspace
metadata: {name: coder.admin.dev}
spec: {templateName: echo, running: RUNNING}
`

// TestKubectl is a workspace in the hands of the real kubectl: applied, explained,
// listed, watched, waited for, patched, applied by the server, deleted.
func TestKubectl(t *testing.T) {
	w := newTown(t)
	k := w.newKubectl(t)
	running, stopped := strings.Replace(manifest, "RUNNING", "true", 1), strings.Replace(manifest, "RUNNING", "false", 1)

	k.says([]string{"CoderWorkspace", "coderworkspaces", "CoderTemplate"}, "", "api-resources", "--api-group", "aggregation.coder.com")
	k.says([]string{"FIELDS", "templateName", "running", "autostartSchedule"}, "", "explain", "coderworkspaces.spec")
	k.says([]string{"No resources found"}, "", "get", "coderworkspaces")

	watching := k.command(t.Context(), "", "get", "coderworkspaces", "--watch", "--output-watch-events", "-o", "wide")
	pipe, err := watching.StdoutPipe()
	must(t, err)
	must(t, watching.Start())
	t.Cleanup(func() { _ = watching.Wait() }) // it ends with the test
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(pipe); s.Scan(); {
			lines <- s.Text()
		}
	}()
	sees := func(words ...string) {
		t.Helper()
		late := time.NewTimer(wait)
		defer late.Stop()
		for {
			select {
			case line, ok := <-lines:
				all := ok
				for _, word := range words {
					all = all && strings.Contains(line, word)
				}
				if all {
					return
				}
				if !ok {
					t.Fatalf("kubectl ended before it saw %v", words)
				}
			case <-late.C:
				t.Fatalf("kubectl did not see %v", words)
			}
		}
	}

	k.says([]string{"created (server dry run)"}, running, "apply", "--dry-run=server", "-f", "-")
	k.says([]string{"created"}, running, "apply", "-f", "-")
	sees("ADDED", "coder.admin.dev")
	k.says([]string{"condition met"}, "", "wait", "coderworkspace/coder.admin.dev", "--for=jsonpath={.status.latestBuildStatus}=running", "--timeout=2m")
	k.says([]string{"NAME", "coder.admin.dev", "echo", "running"}, "", "get", "coderworkspaces")
	k.says([]string{"Template Name", "echo"}, "", "describe", "coderworkspace", "coder.admin.dev")
	k.says([]string{"coderworkspace.aggregation.coder.com/coder.admin.dev"}, "", "get", "coderworkspaces", "-o", "name", "--ignore-not-found", "--field-selector", "metadata.name=coder.admin.dev")

	k.says([]string{"configured"}, stopped, "apply", "-f", "-")
	sees("MODIFIED", "stopped")
	k.says([]string{"condition met"}, "", "wait", "coderworkspace/coder.admin.dev", "--for=jsonpath={.status.latestBuildStatus}=stopped", "--timeout=2m")
	k.says([]string{"patched"}, "", "patch", "coderworkspace", "coder.admin.dev", "--type=merge", "-p", `{"spec":{"running":true}}`)
	k.says([]string{"condition met"}, "", "wait", "coderworkspace/coder.admin.dev", "--for=jsonpath={.status.latestBuildStatus}=running", "--timeout=2m")
	k.says([]string{"serverside-applied"}, stopped, "apply", "--server-side", "--force-conflicts", "-f", "-")
	k.says([]string{"condition met"}, "", "wait", "coderworkspace/coder.admin.dev", "--for=jsonpath={.status.latestBuildStatus}=stopped", "--timeout=2m")

	k.says([]string{"deleted"}, "", "delete", "coderworkspace", "coder.admin.dev", "--wait", "--timeout=2m")
	sees("DELETED", "coder.admin.dev")
	if out, err := k.run("", "get", "coderworkspace", "coder.admin.dev"); err == nil || !strings.Contains(out, "NotFound") {
		t.Errorf("after the deletion: %v, %s", err, out)
	}
	if out, err := k.run(strings.Replace(running, "echo", "nothing", 1), "apply", "-f", "-"); err == nil || !strings.Contains(out, "has no template nothing") {
		t.Errorf("a template that is not there: %v, %s", err, out)
	}
}

// TestInformer keeps client-go's informer, over a restart of the server, after
// which its version is expired (410) and it lists again.
func TestInformer(t *testing.T) {
	w := newTown(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c, err := dynamic.NewForConfig(cluster.Rest)
	must(t, err)
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(c, 0, w.ns, nil)
	informer := factory.ForResource(workspaceResource).Informer()
	var trouble bytes.Buffer
	must(t, informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { trouble.WriteString(err.Error() + "\n") }))
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("the informer has not synchronized")
	}
	knows := func(name, status string) {
		t.Helper()
		kubetest.Until(t, wait, func(context.Context) string {
			o, there, err := informer.GetStore().GetByKey(w.ns + "/" + name)
			must(t, err)
			if status == "" && !there {
				return ""
			}
			x, _ := o.(*unstructured.Unstructured)
			if x == nil || text(x, "status", "latestBuildStatus") != status {
				return "the informer has not seen " + name + " as " + status
			}
			return ""
		})
	}
	_, err = w.workspaces.Create(ctx, workspace("coder.admin.one", map[string]any{"templateName": "echo"}), metav1.CreateOptions{})
	must(t, err)
	knows("coder.admin.one", "running")
	serve(t).again(t)
	tpl, err := w.Client.TemplateByName(ctx, "default", "echo")
	must(t, err)
	_, err = w.Client.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "two", TemplateID: tpl.ID})
	must(t, err)
	knows("coder.admin.two", "running")
	must(t, w.workspaces.Delete(ctx, "coder.admin.one", metav1.DeleteOptions{}))
	knows("coder.admin.one", "")
	knows("coder.admin.two", "running")
	cancel()
	factory.Shutdown()
	t.Logf("what the informer was told: %s", trouble.String())
}
