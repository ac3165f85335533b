package ahead

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// MaxPlan is the largest file of a plan that is kept, in bytes. A wire message must stay
// below 4 MiB.
const MaxPlan = 2 << 20

// Plan is a saved plan.
type Plan struct {
	// Basis is the Basis of the session that made the plan.
	Basis string `json:"basis"`
	// File is the file of `terraform plan -out`.
	File []byte `json:"file"`
	// Complete is the encoded answer of the engine, provisioner.PlanComplete.
	Complete []byte `json:"complete"`
	// MadeAt is when the plan was made.
	MadeAt time.Time `json:"made_at"`
}

// Pack returns the plan as bytes for Unpack.
func (p Plan) Pack() ([]byte, error) { return json.Marshal(p) }

// Unpack returns a packed plan.
func Unpack(packed []byte) (p Plan, err error) {
	if err := json.Unmarshal(packed, &p); err != nil {
		return Plan{}, errors.New("it cannot be read")
	}
	return p, nil
}

// OfState returns why resources in a state prevent plans of a template that does not set
// Setting to true: Terraform refreshes them at their provider. It returns "" if none does.
func OfState(state []byte) string {
	if len(state) == 0 {
		return ""
	}
	var s struct {
		Resources []struct{ Mode, Type, Name, Provider string }
	}
	if err := json.Unmarshal(state, &s); err != nil {
		return "the state cannot be read"
	}
	for _, r := range s.Resources {
		_, address, _ := strings.Cut(r.Provider, `provider["`)
		address, _, _ = strings.Cut(address, `"]`)
		if r.Mode == "managed" && !slices.Contains(pure, providerSource(address)) {
			return fmt.Sprintf("%s.%s exists, and Terraform reads it at its provider when it plans, unless the template sets %s = true", r.Type, r.Name, Setting)
		}
	}
	return ""
}

// Machine is what a plan depends on where it is made, besides its inputs.
type Machine struct {
	Tool string   // such as terraform/1.16.0
	Env  []string // environment of Terraform without that of the workspace
	Dir  string   // the unpacked source after init, with the inputs of the plan
	// Files are the paths, from Dir, of files to compare, which can be missing.
	Files []string
}

// perBuild are the variables that differ between builds with the same plan; those that end
// in _ are prefixes.
var perBuild = []string{
	"CODER_WORKSPACE_BUILD_ID", "CODER_WORKSPACE_OWNER_SESSION_TOKEN", "CODER_WORKSPACE_OWNER_OIDC_ACCESS_TOKEN", "CODER_EXTERNAL_AUTH_ACCESS_TOKEN_",
}

// perProcess are variables that name a process or a host. Without them, provisioners that are
// set up alike can use each other's plans.
var perProcess = strings.Fields("HOSTNAME PWD OLDPWD SHLVL _ INVOCATION_ID JOURNAL_STREAM SYSTEMD_EXEC_PID")

// Basis returns a hash of a machine and of the variables of a workspace. Plans that are made
// from the same source with the same basis are equal.
func Basis(m Machine, workspace map[string]string) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%q %s/%s\n", m.Tool, runtime.GOOS, runtime.GOARCH)
	files := slices.Clone(m.Files)
	for i := range files {
		files[i] = filepath.Join(m.Dir, files[i])
	}
	for _, kv := range slices.Sorted(slices.Values(m.Env)) {
		name, value, _ := strings.Cut(kv, "=")
		if slices.Contains(perProcess, name) {
			continue
		}
		fmt.Fprintf(h, "%q\n", kv)
		if name == "TF_CLI_CONFIG_FILE" {
			files = append(files, value)
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		files = append(files, filepath.Join(home, ".terraformrc"))
	}
	for i, name := range files {
		content, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("read what a plan depends on: %w", err)
		}
		fmt.Fprintf(h, "%d %x\n", i, sha256.Sum256(content))
	}
	for _, k := range slices.Sorted(maps.Keys(workspace)) {
		if !slices.ContainsFunc(perBuild, func(v string) bool { return k == v || strings.HasSuffix(v, "_") && strings.HasPrefix(k, v) }) {
			fmt.Fprintf(h, "%q=%q\n", k, workspace[k])
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
