package archtest

// tier is a layer of rooms. A room may import its own allowances only.
type tier struct {
	number int
	name   string
	rooms  []string // relative to the module; a trailing /... takes all below
	may    []string // what every room of the tier may import, same notation
}

// tiers is the house, bottom up.
var tiers = []tier{
	{0, "vocabulary", []string{"."}, nil},
	{1, "contracts", []string{"api/...", "client"}, []string{".", "api/..."}},
	{2, "mechanisms", []string{
		"internal/access", "internal/archive", "internal/calendar", "internal/devcontainer", "internal/echo", "internal/filelock", "internal/gitauth", "internal/initscript", "internal/instance", "internal/lifecycle", "internal/listen", "internal/mail", "internal/notify",
		"internal/postgres", "internal/postgres/embedded", "internal/postgres/sqlc", "internal/pty", "internal/screen", "internal/sshd", "internal/startup", "internal/switchboard",
		"internal/telemetry", "internal/terraform/...", "internal/tfprovider", "internal/tunnel/...", "internal/usage", "internal/viewer", "internal/warm", "examples",
	}, []string{".", "api/...", "client", "internal/lifecycle", "internal/telemetry"}},
	{3, "use cases", []string{
		"internal/app", "internal/audit", "internal/connection", "internal/deployment", "internal/health", "internal/identity", "internal/insight", "internal/keyring", "internal/login", "internal/organization", "internal/parameter", "internal/prebuild", "internal/presence", "internal/proxy", "internal/queue", "internal/resource", "internal/schedule", "internal/share", "internal/standing", "internal/steward",
		"internal/template", "internal/vault", "internal/workspace",
	}, []string{
		".", "api/...", "internal/access", "internal/archive", "internal/calendar", "internal/lifecycle", "internal/notify", "internal/postgres",
		"internal/postgres/sqlc", "internal/telemetry", "internal/terraform/...", "internal/audit", "internal/tunnel", "internal/vault", "examples",
	}},
	{4, "edges", []string{"internal/agentapi", "internal/appproxy", "internal/httpapi", "internal/provisionapi"}, []string{
		".", "api/...", "client", "examples", "internal/access", "internal/archive", "internal/connection", "internal/keyring", "internal/login", "internal/lifecycle", "internal/listen", "internal/notify", "internal/telemetry",
		"internal/switchboard", "internal/initscript", "internal/instance", "internal/tunnel", "internal/viewer", "internal/identity", "internal/organization", "internal/presence", "internal/prebuild", "internal/proxy", "internal/queue", "internal/share",
		"internal/resource", "internal/template", "internal/workspace", "internal/audit", "internal/app", "internal/deployment", "internal/health", "internal/insight",
	}},
	{5, "processes", []string{"internal/agent", "internal/operator/...", "internal/provisionerd", "internal/server", "internal/wsproxy"}, []string{".", "api/...", "client", "internal/lifecycle", "internal/telemetry"}},
	{6, "commands", []string{"internal/cli/...", "cmd/..."}, []string{".", "api/...", "client",
		"internal/cli/app", "internal/cli/autostart", "internal/cli/build", "internal/cli/later", "internal/cli/option", "internal/cli/section", "internal/cli/terminal"}},
	{7, "proving", []string{"internal/agenttest", "internal/archtest", "internal/bench/...", "internal/contracttest", "internal/enginetest", "internal/postgrestest", "internal/servertest", "e2e", "web"}, []string{"./..."}},
}

// pairs are imports beyond the tiers, each with its reason.
var pairs = map[string]map[string]string{
	"client":                 {},
	"internal/switchboard":   {"internal/postgres/sqlc": "the replicas table", "internal/postgres": "the replicas table", "internal/tunnel": "its own way to agents", "internal/tunnel/relay": "the messages it forwards"},
	"internal/tunnel/lane":   {"internal/tunnel/path": "how big a record may be, and by what it is known"},
	"internal/tunnel/parity": {"internal/tunnel/udp": "packets that are sent at once"},
	"internal/tunnel/path":   {"internal/tunnel/relay": "one of the ways", "internal/tunnel/udp": "another", "internal/tunnel/stun": "where others see an end", "internal/tunnel/parity": "lost packets"},
	"internal/postgres":      {"internal/postgres/sqlc": "the generated queries"},
	"internal/terraform":     {"internal/terraform/...": "its own rooms", "internal/archive": "template sources", "internal/initscript": "the agent's bootstrap", "internal/tfprovider": "the provider it attaches to", "internal/filelock": "processes share the cache directory", "internal/warm": "results of init"},
	"internal/warm":          {"internal/filelock": "processes share the store"},
	"internal/echo":          {"internal/archive": "scripts come in template archives"},
	"internal/template":      {"internal/parameter": "what forms ask for", "internal/queue": "import and dry-run jobs", "internal/resource": "what an import would make", "internal/organization": "whom access lists name"},
	"internal/queue":         {"internal/standing": "places in the queue"},
	"internal/schedule":      {"internal/workspace": "what is due is a build"},
	"internal/share":         {"internal/queue": "it takes jobs of several"},
	"internal/workspace":     {"internal/parameter": "what builds are held to", "internal/queue": "build jobs", "internal/resource": "what a build made", "internal/organization": "whom access lists name"},
	"internal/health":        {"internal/deployment": "settings of the site"},
	"internal/prebuild":      {"internal/deployment": "settings of the site", "internal/workspace": "what it makes and deletes"},
	"internal/presence":      {"internal/resource": "agents are resources' children"},
	"internal/login":         {"internal/identity": "who people are here", "internal/organization": "access lists that forget who leaves"},
	"internal/identity":      {"internal/organization": "access lists that forget who leaves"},
	"internal/agent":         {"internal/devcontainer": "agents in containers", "internal/tunnel": "its end of the tunnel", "internal/tunnel/relay": "the way there", "internal/sshd": "sessions", "internal/pty": "terminals that outlive their viewers", "internal/startup": "the order of what starts", "internal/usage": "what is watched"},
	"internal/pty":           {"internal/tunnel": "viewers come through it", "internal/sshd": "the shells", "internal/screen": "what terminals show"},
	"internal/provisionerd":  {"internal/terraform": "an engine", "internal/archive": "module files", "internal/initscript": "the agent's bootstrap", "internal/echo": "an engine for tests"},
	"internal/server":        {"./...": "it assembles everything"},
	"internal/wsproxy":       {"internal/app": "passes", "internal/appproxy": "apps, as the server serves them", "internal/listen": "its addresses", "internal/tunnel": "the way to agents", "internal/viewer": "terminals"},
	// The operator's rooms: a controller per kind, over what they share.
	"internal/operator/apply":        {"internal/operator/shape": "the owner's label"},
	"internal/operator/round":        {"internal/operator/shape": "the owner's label", "internal/operator/remote": "the server"},
	"internal/operator/controlplane": {"internal/operator/shape": "the shape of pods", "internal/operator/apply": "how objects come about", "internal/operator/remote": "the server", "internal/operator/round": "what rounds have in common"},
	"internal/operator/proxy":        {"internal/operator/shape": "the shape of pods", "internal/operator/apply": "how objects come about", "internal/operator/remote": "the server", "internal/operator/round": "what rounds have in common"},
	"internal/operator/aggregated":   {"internal/operator/round": "what controllers are given, and a server's authorities", "internal/operator/remote": "the server"},
	"internal/operator/provisioner":  {"internal/operator/shape": "the shape of pods", "internal/operator/apply": "how objects come about", "internal/operator/remote": "the server", "internal/operator/round": "what rounds have in common"},
	// A family imports no other; each process is linked by one of them only.
	"internal/cli/inside":      {"internal/agent": "the agent it starts", "internal/gitauth": "what git asks", "internal/startup": "what sync asks", "internal/usage": "what stat shows"},
	"internal/cli/provisioner": {"internal/provisionerd": "the provisioner it starts", "internal/terraform": "its engine", "internal/server": "the engines by name", "internal/telemetry": "its log and metrics"},
	"internal/cli/remote":      {"internal/tunnel": "clients are a tunnel's other end"},
	"internal/cli/serve":       {"internal/server": "the server it starts", "internal/wsproxy": "the proxy it starts", "internal/lifecycle": "what it starts", "internal/telemetry": "its log"},
	"internal/cli/template":    {"internal/archive": "push and pull", "examples": "templates init"},
	"cmd/coder-agent":          {"internal/cli/inside": "its commands"},
	"cmd/coder-operator":       {"internal/operator": "the process it is", "internal/operator/aggregated": "the API server it can be", "internal/operator/serving": "that one's certificate"},
	"cmd/coder":                {"internal/cli": "every command", "internal/tfprovider": "the provider it is under another name"},
}

// confined are libraries that only the named rooms may import.
var confined = map[string][]string{
	"github.com/jackc/pgx":                       {"internal/postgres", "internal/postgres/embedded", "internal/postgres/sqlc", "internal/notify", "internal/postgrestest", "internal/bench"},
	"github.com/pressly/goose":                   {"internal/postgres"},
	"github.com/fergusstrange/embedded-postgres": {"internal/postgres/embedded"},
	"github.com/hashicorp/terraform-exec":        {"internal/terraform"},
	"github.com/hashicorp/hc-install":            {"internal/terraform"},
	"github.com/hashicorp/terraform-plugin-sdk":  {"internal/tfprovider"},
	"github.com/coder/terraform-provider-coder":  {"internal/tfprovider", "internal/terraform"},
	"github.com/urfave/cli":                      {"internal/cli/app"},
	"golang.org/x/crypto/ssh":                    {"internal/sshd", "internal/cli/remote", "internal/identity", "internal/agentapi", "internal/agent"},
	"github.com/pkg/sftp":                        {"internal/sshd"},
	"github.com/creack/pty":                      {"internal/sshd", "internal/bench"},
	"github.com/quic-go/quic-go":                 {"internal/tunnel"},
	"github.com/smallstep/pkcs7":                 {"internal/instance"},
	"github.com/coreos/go-oidc":                  {"internal/login", "internal/instance"},
	"golang.org/x/oauth2":                        {"internal/login"},
	"k8s.io":                                     {"internal/operator", "api/aggregation", "api/v1alpha1", "cmd/coder-operator"},
	"sigs.k8s.io":                                {"internal/operator", "api/aggregation", "api/v1alpha1", "cmd/coder-operator"},
	"net/http":                                   {"internal/operator", "client", "internal/agentapi", "internal/appproxy", "internal/instance", "internal/httpapi", "internal/listen", "internal/provisionapi", "internal/telemetry", "internal/login", "internal/server", "internal/servertest", "internal/provisionerd", "internal/agent", "internal/startup", "internal/gitauth", "internal/agenttest", "internal/cli/app", "internal/tunnel", "internal/switchboard", "internal/terraform", "internal/wsproxy", "internal/bench", "web", "e2e"},
}

// Budgets of hand-written code outside of tests.
const (
	maxFileLines     = 500
	maxFuncLines     = 70
	maxPackageLines  = 3000
	maxImports       = 8
	maxInterfaceSize = 5
)

// raised budgets, each with its reason.
var (
	packageLines = map[string]int{
		".":                 5600, // the nouns of the whole contract
		"internal/agent":    3400, // all that is served and reported of a workspace
		"internal/postgres": 8000, // all SQL lives there
		"internal/identity": 3500, // users, their sessions and tokens, and where they are members change in one transaction
		"internal/httpapi":  8000, // one file per noun of the whole API
	}
	imports = map[string]int{
		"internal/httpapi": 23, "internal/agentapi": 12, "internal/provisionapi": 12, // edges
		"internal/server":    41, // it assembles everything
		"internal/template":  10, // versions, forms, files, imports, dry runs and when workspaces start
		"internal/workspace": 11, // a build touches people, the queue, resources, tags and when it ends
	}
	interfaceSize = map[string]int{
		"api/provisioner.Session": 6, // the six steps of the wire's conversation
	}
)
