# Installs the dotfiles of the user of the workspace.

variable "dotfiles_default" {
  type        = string
  default     = ""
  description = "URL that the form suggests. Empty means none."
}

data "coder_parameter" "dotfiles_repository" {
  name         = "dotfiles_repository"
  display_name = "Dotfiles"
  description  = "URL of a Git repository with your personal settings. Leave empty for none."
  icon         = "/icon/dotfiles.svg"
  type         = "string"
  default      = var.dotfiles_default
  mutable      = true
  order        = 51

  validation {
    regex = "^$|^(https?://|ssh://|git@)\\S+$"
    error = "Enter the URL of a Git repository, or leave the field empty."
  }
}

resource "coder_env" "dotfiles_repository" {
  agent_id = coder_agent.main.id
  name     = "WORKSPACE_DOTFILES"
  value    = data.coder_parameter.dotfiles_repository.value
}

resource "coder_script" "dotfiles" {
  agent_id     = coder_agent.main.id
  display_name = "Dotfiles"
  icon         = "/icon/dotfiles.svg"
  run_on_start = true
  script       = <<-EOT
    #!/bin/sh
    set -e
    [ -n "$WORKSPACE_DOTFILES" ] || exit 0
    coder dotfiles --yes "$WORKSPACE_DOTFILES"
  EOT
}
