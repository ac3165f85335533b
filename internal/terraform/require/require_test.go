package require

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/testtar"
)

func TestRead(t *testing.T) {
	source := testtar.Of(t, map[string]string{
		"main.tf": `
terraform {
  required_providers {
    coder  = { source = "coder/coder" }
    docker = { source = "Kreuzwerker/docker", version = "~> 3.0" }
    null   = ">= 3.0"
    own    = { source = "registry.example.com/acme/own" }
  }
}
resource "docker_container" "dev" {}
resource "random_id" "name" {}
resource "aws_instance" "dev" {
  provider = own.east
}
resource "terraform_data" "x" {}
provider "time" {}
module "local" {
  source = "./modules/local"
}
module "remote" {
  source = "acme/remote/any"
}
module "missing" {
  source = "acme/missing/any"
}
`,
		"more.tf.json":                  `{"data": {"http": {"site": {}}}}`,
		"modules/local/main.tf":         "terraform {\n  required_providers {\n    docker = {\n      source  = \"kreuzwerker/docker\"\n      version = \"!= 3.1.0\"\n    }\n  }\n}\n",
		"unused/main.tf":                "resource \"azurerm_thing\" \"x\" {}\n",
		".terraform.lock.hcl":           "provider \"registry.terraform.io/kreuzwerker/docker\" {\n  version = \"3.0.2\"\n}\nprovider \"registry.example.com/acme/own\" {\n  version = \"1.0.0\"\n}\n",
		"modules/local/tests/main.tf":   "resource \"azurerm_thing\" \"x\" {}\n",
		"modules/local/.hidden/main.tf": "resource \"azurerm_thing\" \"x\" {}\n",
	})
	modules := testtar.Of(t, map[string]string{
		".terraform/modules/modules.json":              `{"Modules":[{"Key":"","Dir":"."},{"Key":"remote","Source":"registry.example.com/acme/remote/any//inner","Version":"1.2.0","Dir":".terraform/modules/remote/inner"}]}`,
		".terraform/modules/remote/inner/main.tf":      "data \"external\" \"x\" {}\nmodule \"deeper\" {\n  source = \"../deeper\"\n}\n",
		".terraform/modules/remote/deeper/main.tf":     "resource \"tls_private_key\" \"x\" {}\n",
		".terraform/modules/remote/examples/x/main.tf": "resource \"azurerm_thing\" \"x\" {}\n",
	})
	got, installed, err := Read(source, modules)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, p := range got {
		lines = append(lines, fmt.Sprintf("%s %v %s", p.Source, p.Constraints, p.Locked))
	}
	const want = `hashicorp/external [] 
hashicorp/http [] 
hashicorp/null [>= 3.0] 
hashicorp/random [] 
hashicorp/time [] 
hashicorp/tls [] 
kreuzwerker/docker [!= 3.1.0 ~> 3.0] 3.0.2
registry.example.com/acme/own [] 1.0.0`
	if s := strings.Join(lines, "\n"); s != want {
		t.Errorf("got\n%s\nwant\n%s", s, want)
	}
	if want := []Module{{Source: "registry.example.com/acme/remote/any//inner", Version: "1.2.0"}}; !slices.Equal(installed, want) {
		t.Errorf("got %v, want %v", installed, want)
	}
}

func TestCirclesEnd(t *testing.T) {
	source := testtar.Of(t, map[string]string{"main.tf": "module \"self\" {\n  source = \"./\"\n}\n"})
	if _, _, err := Read(source, nil); err == nil || !strings.Contains(err.Error(), "too many modules") {
		t.Errorf("got %v", err)
	}
}

func TestBrokenSources(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"syntax":  {"main.tf": "resource {"},
		"lock":    {"main.tf": "", ".terraform.lock.hcl": "provider {"},
		"modules": {"main.tf": "", ".terraform/modules/modules.json": "["},
	} {
		if _, _, err := Read(testtar.Of(t, files), nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, _, err := Read([]byte("no tar"), nil); err == nil {
		t.Error("no error for no tar")
	}
}
