package notify

// ProvisionerKeys is the topic of rotated and deleted provisioner keys.
func ProvisionerKeys() string { return "provisioner-keys" }
