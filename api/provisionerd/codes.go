// Package provisionerd is the wire between a server and a provisioner daemon,
// as generated from the contract, and the few facts about it that the contract
// leaves to the two ends: error codes, sizes, and how a peer says what it adds.
package provisionerd

// Codes of DRPC errors. A peer that does not know them sees an error all the same.
const (
	// CodeLost states that the daemon no longer holds the job: it stops and sends
	// nothing more about it.
	CodeLost = 1000
	// CodeRefused states that the request makes no sense and would make none again.
	CodeRefused = 1001
)

// Sizes in bytes.
const (
	// MaxMessage bounds one message; a peer of the original takes 4 MiB.
	MaxMessage = 128 << 20
	// MaxFile bounds an uploaded file, such as a template's prepared modules.
	MaxFile = 100 << 20
	// MaxState bounds the state of a build that is told while it runs, unpacked.
	MaxState = 64 << 20
	// Chunk is how much of a file goes into one piece.
	Chunk = 2 << 20
)

// CapabilityParameter is the query parameter, repeated, with which a daemon
// says what it knows beyond the contract when it connects; CapabilityLease is
// its value for fences and leases. Servers that do not know it ignore it.
const (
	CapabilityParameter = "capability"
	CapabilityLease     = "lease"
)

// A daemon that takes several jobs at once opens a connection for each, all
// under its name, and says with SlotsParameter how many there are, from 1 to
// MaxSlots. ToolParameter, repeated, names what it runs, as in
// terraform/1.11.4. Servers that do not know them ignore them.
const (
	SlotsParameter = "slots"
	ToolParameter  = "tool"
	MaxSlots       = 1000
)

// Values of saved_plan of a completed build: whether it applied the plan that the server sent.
const (
	SavedPlanUsed    = "used"
	SavedPlanRefused = "refused"
)
