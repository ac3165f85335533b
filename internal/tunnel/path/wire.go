package path

// wire is a TCP connection straight between the two ends of a session.
type wire struct{}
