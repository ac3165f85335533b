package templatesource

import (
	"path"
	"strings"
)

// IsConfiguration reports whether Terraform or OpenTofu reads a file of this name in a module.
func IsConfiguration(file string) bool { return IsTerraform(file) || IsTofu(file) }

// IsTerraform reports whether Terraform and OpenTofu read a file of this name in a module.
func IsTerraform(file string) bool { return configuration(file, ".tf") }

// IsTofu reports whether OpenTofu, but not Terraform, reads a file of this name in a module. It replaces the file of
// Terraform with the same name.
func IsTofu(file string) bool { return configuration(file, ".tofu") }

// configuration reports whether a file has an ending, alone or with that of JSON. Neither program reads hidden files.
func configuration(file, ending string) bool {
	return strings.HasSuffix(strings.TrimSuffix(file, ".json"), ending) && !strings.HasPrefix(path.Base(file), ".")
}
