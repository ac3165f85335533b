package codersdk

// SupportBundleProgress is a text message of GET /debug/support-bundle. The zip
// file arrives in binary messages between them.
type SupportBundleProgress struct {
	Part  string `json:"part,omitempty"`  // the part that has just been collected
	Error string `json:"error,omitempty"` // reason why it is missing
	Done  int    `json:"done,omitempty"`  // parts that have been collected or are missing
	Total int    `json:"total,omitempty"`
	// Result is set in the last message only.
	Result *SupportBundleResult `json:"result,omitempty"`
}

// SupportBundleResult describes a complete support bundle.
type SupportBundleResult struct {
	Name    string `json:"name"`    // suggested name of the file
	Files   int    `json:"files"`   // number of files in the archive
	Missing int    `json:"missing"` // number of parts that could not be collected; manifest.json lists them
}
