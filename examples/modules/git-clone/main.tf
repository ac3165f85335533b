# Clones a Git repository that the user of the workspace chooses.

variable "git_clone_default" {
  type        = string
  default     = ""
  description = "URL that the form suggests. Empty means none."
}

data "coder_parameter" "git_repository" {
  name         = "git_repository"
  display_name = "Git repository"
  description  = "A Git repository to clone when the workspace starts for the first time. Leave empty for none."
  icon         = "/icon/git.svg"
  type         = "string"
  default      = var.git_clone_default
  mutable      = true
  order        = 50

  validation {
    regex = "^$|^(https?://|ssh://|git@)\\S+$"
    error = "Enter the URL of a Git repository, or leave the field empty."
  }
}

resource "coder_env" "git_repository" {
  agent_id = coder_agent.main.id
  name     = "WORKSPACE_GIT_REPOSITORY"
  value    = data.coder_parameter.git_repository.value
}

resource "coder_script" "git_clone" {
  agent_id     = coder_agent.main.id
  display_name = "Git clone"
  icon         = "/icon/git.svg"
  run_on_start = true
  script       = <<-EOT
    #!/bin/sh
    set -e
    [ -n "$WORKSPACE_GIT_REPOSITORY" ] || exit 0
    name="$(basename -- "$WORKSPACE_GIT_REPOSITORY" .git)"
    if [ -e "$HOME/$name" ]; then
      echo "$HOME/$name exists already"
    else
      coder git clone -- "$WORKSPACE_GIT_REPOSITORY" "$HOME/$name"
    fi
  EOT
}
