# A workspace without an agent: its builds take a second.

terraform {
  required_providers {
    coder = {
      source  = "coder/coder"
      version = ">= 2.5"
    }
  }
}

variable "image" {
  type    = string
  default = "small"
}

data "coder_workspace" "me" {}

data "coder_parameter" "size" {
  name    = "size"
  type    = "number"
  default = "1"
  mutable = true
  order   = 1
}

data "coder_parameter" "debug" {
  name      = "debug"
  type      = "string"
  default   = "off"
  mutable   = true
  ephemeral = true
  order     = 2

  option {
    name        = "Off"
    value       = "off"
    description = "No debug output."
  }
  option {
    name  = "On"
    value = "on"
  }
}

data "coder_workspace_preset" "large" {
  name        = "Large"
  description = "Four of them."
  default     = true
  parameters = {
    size = "4"
  }
}

resource "terraform_data" "machine" {
  count = data.coder_workspace.me.start_count
  input = "${var.image} ${data.coder_parameter.size.value} ${data.coder_parameter.debug.value}"
}
