# A workspace that is a process on the provisioner's own machine.
#
# It isolates nothing: users of the workspace have the permissions of the user that
# runs the provisioner. See README.md.

terraform {
  required_providers {
    coder = {
      source  = "coder/coder"
      version = ">= 2.0.0"
    }
  }
}

data "coder_provisioner" "me" {}
data "coder_workspace" "me" {}
data "coder_workspace_owner" "me" {}

variable "base_directory" {
  type        = string
  default     = "~/.local/share/coder-local"
  description = "Directory on the provisioner's machine that contains the directories of the workspaces."
}

data "coder_parameter" "repository" {
  name         = "repository"
  display_name = "Repository"
  description  = "A Git repository to clone when the workspace starts for the first time. Leave empty for none."
  type         = "string"
  default      = ""
  mutable      = true
  order        = 1

  validation {
    regex = "^$|^(https?://|ssh://|git@|/)\\S+$"
    error = "Enter the URL of a Git repository, or leave the field empty."
  }
}

data "coder_parameter" "niceness" {
  name         = "niceness"
  display_name = "Niceness"
  description  = "Scheduling priority of the workspace, from 0 (normal) to 19 (lowest)."
  type         = "number"
  form_type    = "slider"
  default      = "0"
  mutable      = true
  order        = 2

  validation {
    min = 0
    max = 19
  }
}

locals {
  directory = pathexpand("${var.base_directory}/${data.coder_workspace_owner.me.name}-${data.coder_workspace.me.name}-${substr(data.coder_workspace.me.id, 0, 8)}")
}

resource "coder_agent" "main" {
  os   = data.coder_provisioner.me.os
  arch = data.coder_provisioner.me.arch

  # A script must not have a parameter's value in its text: the shell would run
  # what stands in it. It reads the value from its environment.
  env = {
    WORKSPACE_REPOSITORY = data.coder_parameter.repository.value
  }

  metadata {
    key          = "load"
    display_name = "Load of the machine"
    script       = "uptime | sed 's/.*load average[s]*: *//'"
    interval     = 30
    timeout      = 5
  }

  metadata {
    key          = "disk"
    display_name = "Size of the home directory"
    script       = "du -sh \"$HOME\" 2>/dev/null | cut -f1"
    interval     = 300
    timeout      = 60
  }
}

resource "coder_script" "welcome" {
  agent_id     = coder_agent.main.id
  display_name = "Prepare the workspace"
  icon         = "/icon/terminal.svg"
  run_on_start = true
  script       = <<-EOT
    set -e
    echo "Workspace $CODER_WORKSPACE_NAME of $CODER_WORKSPACE_OWNER_NAME lives in $HOME"
    if [ -n "$WORKSPACE_REPOSITORY" ]; then
      name="$(basename -- "$WORKSPACE_REPOSITORY" .git)"
      if [ -e "$HOME/$name" ]; then
        echo "$name is there already"
      else
        coder git clone -- "$WORKSPACE_REPOSITORY" "$HOME/$name"
      fi
    fi
  EOT
}

# The directory stays as long as the workspace exists.
resource "terraform_data" "directory" {
  input = {
    directory = local.directory
    workspace = data.coder_workspace.me.id
  }

  # A renamed workspace keeps the directory that it has.
  lifecycle {
    ignore_changes = [input]
  }

  provisioner "local-exec" {
    command     = "sh ${path.module}/directory.sh create"
    environment = { DIRECTORY = self.input.directory, WORKSPACE_ID = self.input.workspace }
  }

  provisioner "local-exec" {
    when        = destroy
    command     = "sh ${path.module}/directory.sh remove"
    environment = { DIRECTORY = self.input.directory, WORKSPACE_ID = self.input.workspace }
  }
}

# The agent runs while the workspace is started.
resource "terraform_data" "process" {
  count = data.coder_workspace.me.start_count

  input = {
    directory = terraform_data.directory.output.directory
  }

  # Every start makes a new token, which only a new process knows.
  triggers_replace = [
    sha256(coder_agent.main.token),
    coder_agent.main.init_script,
    data.coder_parameter.niceness.value,
  ]

  provisioner "local-exec" {
    command = "sh ${path.module}/process.sh start"
    environment = {
      DIRECTORY   = self.input.directory
      NICENESS    = data.coder_parameter.niceness.value
      INIT_SCRIPT = coder_agent.main.init_script
      # Only the process gets to see it; as a sensitive value it would hide
      # the output of a start that failed.
      AGENT_TOKEN = nonsensitive(coder_agent.main.token)
    }
  }

  provisioner "local-exec" {
    when        = destroy
    command     = "sh ${path.module}/process.sh stop"
    environment = { DIRECTORY = self.input.directory }
  }
}

resource "coder_metadata" "process" {
  count       = data.coder_workspace.me.start_count
  resource_id = terraform_data.process[0].id

  item {
    key   = "directory"
    value = terraform_data.directory.output.directory
  }
  item {
    key   = "isolation"
    value = "none"
  }
}

resource "coder_metadata" "directory" {
  resource_id = terraform_data.directory.id
  hide        = true
}
