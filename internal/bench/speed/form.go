package speed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
	"github.com/seed-2a7f8fe7/coder/internal/bench/rig"
)

const (
	openForms = 100                    // forms that are filled in at the same time
	keyEvery  = 500 * time.Millisecond // between two keys in one form
	typedKeys = 40                     // in each form
)

// formRows measures the time from a key in a parameter form to the evaluated form. The template has 27
// files, 5 modules, 70 resources and 22 to 28 parameters; all forms are filled in at the same time.
func formRows(ctx context.Context, _ Config, r *rig.Rig) ([]figure.Row, error) {
	template := filepath.Join(r.Dir, "template")
	if err := writeFormTemplate(template); err != nil {
		return nil, err
	}
	if err := r.Run(ctx, "templates", "push", "large", "--directory", template, "--yes"); err != nil {
		return nil, err
	}
	templates, err := r.Client.Templates(ctx, nil)
	if err != nil || len(templates) != 1 {
		return nil, errors.Join(fmt.Errorf("%d templates", len(templates)), err)
	}
	took := make([][]time.Duration, openForms)
	all, ctx := errgroup.WithContext(ctx)
	for i := range openForms {
		all.Go(func() error {
			var err error
			start := keyEvery * time.Duration(i) / openForms // keys do not come all at once
			took[i], err = typeKeys(ctx, r.Client, templates[0].ActiveVersionID, start)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	var keys []time.Duration
	for _, t := range took {
		keys = append(keys, t...)
	}
	return []figure.Row{
		figure.Plain("form_key_p50", figure.Milliseconds(figure.Quantile(keys, 0.5)), "ms"),
		figure.AtMost("form_key_p99", figure.Milliseconds(figure.Quantile(keys, 0.99)), 20, "ms"),
	}, nil
}

// typeKeys types into a form and returns how long each answer took.
func typeKeys(ctx context.Context, client *codersdk.Client, version uuid.UUID, start time.Duration) ([]time.Duration, error) {
	u := client.URL.JoinPath("/api/v2/templateversions", version.String(), "dynamic-parameters")
	conn, _, err := websocket.Dial(ctx, u.String(), &websocket.DialOptions{HTTPHeader: http.Header{codersdk.SessionTokenHeader: {client.SessionToken}}})
	if err != nil {
		return nil, err
	}
	defer conn.CloseNow() //nolint:errcheck // the measurement has ended
	conn.SetReadLimit(1 << 20)
	if _, _, err := conn.Read(ctx); err != nil { // the form with its defaults
		return nil, err
	}
	time.Sleep(start)
	tick := time.NewTicker(keyEvery)
	defer tick.Stop()
	var took []time.Duration
	typed := ""
	for key := range typedKeys {
		<-tick.C
		typed += string(rune('a' + key%26))
		req := codersdk.DynamicParametersRequest{ID: key, Inputs: map[string]string{
			"team": typed, "network": []string{"on", "off"}[key/10%2], "storage-disks": fmt.Sprint(key/10 + 1),
		}}
		message, err := json.Marshal(req)
		if err != nil {
			return nil, err
		}
		began := time.Now()
		if err := conn.Write(ctx, websocket.MessageText, message); err != nil {
			return nil, err
		}
		_, answer, err := conn.Read(ctx)
		if err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
		if err := checkForm(answer, key, typed); err != nil {
			return nil, err
		}
	}
	return took, nil
}

// checkForm checks that a form answers the last key.
func checkForm(answer []byte, key int, typed string) error {
	var form codersdk.DynamicParametersResponse
	if err := json.Unmarshal(answer, &form); err != nil {
		return err
	}
	for _, p := range form.Parameters {
		if p.Name == "compute-name" {
			if want := typed + "-compute"; form.ID != key || p.DefaultValue.Value != want {
				return fmt.Errorf("the form for key %d is that of %d, with the name %q", key, form.ID, p.DefaultValue.Value)
			}
			return nil
		}
	}
	return fmt.Errorf("the form has no parameter of the module: %s, %v", answer[:min(len(answer), 500)], form.Diagnostics)
}

const formRoot = `
terraform {
  required_providers {
    coder = { source = "coder/coder" }
  }
}
data "coder_workspace_owner" "me" {}
data "coder_parameter" "team" {
  name    = "team"
  default = data.coder_workspace_owner.me.name
}
data "coder_parameter" "network" {
  name    = "network"
  default = "on"
  option {
    name  = "On"
    value = "on"
  }
  option {
    name  = "Off"
    value = "off"
  }
}
locals {
  regions = ["eu", "us", "asia"]
  labels  = { for r in local.regions : r => "${upper(r)} of ${data.coder_parameter.team.value}" }
}
`

const formCall = `
module %[1]q {
%[2]s  source = "./modules/%[1]s"
  team   = data.coder_parameter.team.value
  kind   = %[1]q
  labels = local.labels
}
`

const formModule = `
terraform {
  required_providers {
    coder = { source = "coder/coder" }
  }
}
variable "team" {
  type = string
}
variable "kind" {
  type = string
}
variable "labels" {
  type = map(string)
}
locals {
  prefix = "${var.team}-${var.kind}"
  sizes  = [for n in range(1, 6) : n * 2]
}
data "coder_parameter" "name" {
  name    = "${var.kind}-name"
  default = local.prefix
}
data "coder_parameter" "region" {
  name    = "${var.kind}-region"
  default = keys(var.labels)[0]
  dynamic "option" {
    for_each = var.labels
    content {
      name  = option.value
      value = option.key
    }
  }
}
data "coder_parameter" "disks" {
  name    = "${var.kind}-disks"
  type    = "number"
  default = 1
  validation {
    min = 1
    max = 4
  }
}
data "coder_parameter" "disk" {
  count   = tonumber(data.coder_parameter.disks.value)
  name    = "${var.kind}-disk-${count.index + 1}"
  type    = "number"
  default = local.sizes[count.index]
  validation {
    min = min(local.sizes...)
    max = max(local.sizes...) * length(var.labels)
  }
}
`

// writeFormTemplate writes a template of the size of a large one.
func writeFormTemplate(dir string) error {
	files := map[string]string{"main.tf": formRoot}
	for _, kind := range []string{"compute", "storage", "network", "tools", "ide"} {
		condition := ""
		if kind == "network" {
			condition = "  count  = data.coder_parameter.network.value == \"on\" ? 1 : 0\n"
		}
		files[kind+".tf"] = fmt.Sprintf(formCall, kind, condition)
		files["modules/"+kind+"/main.tf"] = formModule
		files["modules/"+kind+"/resources.tf"] = resources(kind, 4)
		files["modules/"+kind+"/more.tf"] = resources(kind+"_more", 4)
	}
	for i := range 6 {
		files[fmt.Sprintf("resources%d.tf", i)] = resources(fmt.Sprintf("own%d", i), 5)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func resources(name string, n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "resource \"terraform_data\" \"%s%d\" {\n  input = { name = %[1]q, labels = [for i in range(%[2]d) : \"label-${i}\"] }\n}\n", name, i)
	}
	return out.String()
}
