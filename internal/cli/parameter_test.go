package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/server"
)

// sized is a template with a required parameter, one with options, one that is
// ephemeral and one that cannot change, and with a preset.
var sized = map[string]string{"graph.jsonl": strings.ReplaceAll(`{"complete": {"parameters": [
	{"name": "region", "displayName": "Region", "type": "string", "required": true},
	{"name": "size", "type": "number", "defaultValue": "2", "mutable": true, "validationMin": 1, "validationMax": 9,
		"options": [{"name": "Two", "value": "2"}, {"name": "Four", "value": "4"}]},
	{"name": "debug", "type": "bool", "defaultValue": "false", "mutable": true, "ephemeral": true}],
	"presets": [{"name": "large", "description": "Everything", "parameters": [{"name": "size", "value": "4"}]}]}}`, "\n", "")}

// TestParameterCommands sets parameters with flags, files, presets and copies.
func TestParameterCommands(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.template("sized", sized)
	dir := t.TempDir()
	good, bad, list := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml"), filepath.Join(dir, "list.yaml")
	h.must(os.WriteFile(good, []byte("region: eu\nsize: 4\n"), 0o600))
	h.must(os.WriteFile(bad, []byte("- region\n"), 0o600))
	h.must(os.WriteFile(list, []byte("region: [a, b]\nsize: 2\n"), 0o600))
	h.commands(`
		templates presets list sized => large
		templates presets list sized --output json => "large"
		! create dev --template sized --yes => region
		! create dev --template sized --parameter region => region
		! create dev --template sized --parameter region=eu --parameter size=3 --yes => size
		! create dev --template sized --parameter region=eu --parameter nothing=3 --yes => nothing
		! create dev --template sized --parameter region=eu --preset none-such --yes => none-such
		! create dev --template sized --rich-parameter-file ` + bad + ` --yes => name: value
		! create dev --template sized --rich-parameter-file ` + dir + `/nothing --yes => nothing
		! create dev --template none --yes => none
		! create dev --template sized --template-version none --parameter region=eu --yes => none
		! create dev --template sized --parameter region=eu --copy-parameters-from nowhere --yes => nowhere
		create dev --template sized --preset large --parameter region=eu --use-parameter-defaults --yes --stop-after 8h --automatic-updates always => dev
		create file --template sized --rich-parameter-file ` + good + ` --yes
		create list --template sized --rich-parameter-file ` + list + ` --yes
		create copy --template sized --copy-parameters-from dev --yes --start-at "9:30AM Mon-Fri"
		create none --template sized --preset none --parameter region=eu --parameter-default size=4 --yes
		show copy => admin/copy
		restart dev --parameter size=2 --yes
		restart dev --ephemeral-parameter debug=true --yes
		! restart dev --parameter region=us --yes => region
		update dev => already on the active version
		! update dev --parameter size=99 --always-prompt => size
		list --column workspace,template,status,healthy => copy
		stop file --yes
		start file --build-option debug=true --yes
	`)
}

// TestTemplatePush uploads directories, which real Terraform imports.
func TestTemplatePush(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(c *server.Config) { c.Provisioning.Engines = []string{"terraform"} })
	dir := t.TempDir()
	write := func(name, text string) string {
		h.must(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
		h.must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		return filepath.Join(dir, name)
	}
	write("plain/main.tf", `
variable "greeting" {
  type = string
}
resource "terraform_data" "main" {
  input = var.greeting
}
`)
	write("broken/main.tf", "resource {")
	write("empty/notes", "")
	write("values.yaml", "greeting: hello\n")
	h.commands(strings.ReplaceAll(`
		! templates push plain --directory DIR/plain --yes => greeting
		! templates push plain --directory DIR/plain --variable greeting --yes => greeting
		! templates push plain --directory DIR/nothing --yes => nothing
		! templates push broken --directory DIR/broken --yes => main.tf
		! templates push empty --directory DIR/empty --yes => empty
		templates push plain --directory DIR/plain --variable greeting=hello --yes --name first --message "The first" => terraform_data.main
		templates push plain --directory DIR/plain --yes --name second --activate=false => second
		! templates push plain --directory DIR/plain --yes --name second => second
		templates push plain --directory DIR/plain --yes --name third --variables-file DIR/values.yaml
		templates versions list plain => third
		templates versions promote --template plain --template-version second => second
		templates versions list plain --output json => "second"
		templates versions archive plain third --yes => third
		templates versions unarchive plain third --yes => third
		templates archive plain --all --yes => plain
		templates versions list plain --include-archived => first
		! templates versions archive plain second --yes => second
		templates create old --directory DIR/plain --variable greeting=x --default-ttl 8h --yes => old
		templates edit old --name newer --deprecated "Use plain" --yes => Changed template
		! create dev --template newer --yes => Use plain
		templates delete newer --yes => newer
	`, "DIR", dir))
}
