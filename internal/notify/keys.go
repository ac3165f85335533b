package notify

// ProvisionerKeys is the topic of provisioner keys that were replaced or deleted.
func ProvisionerKeys() string { return "provisioner-keys" }
