# Runs shell commands at each start of the workspace.

variable "start_commands" {
  type        = string
  default     = "echo 'Add your commands to the template.'"
  description = "Shell commands, separated by semicolons or new lines."
}

resource "coder_env" "start_commands" {
  agent_id = coder_agent.main.id
  name     = "WORKSPACE_START_COMMANDS"
  value    = var.start_commands
}

resource "coder_script" "start_commands" {
  agent_id           = coder_agent.main.id
  display_name       = "Start commands"
  icon               = "/icon/terminal.svg"
  run_on_start       = true
  start_blocks_login = false
  script             = <<-EOT
    #!/bin/sh
    set -e
    cd "$HOME"
    sh -e -c "$WORKSPACE_START_COMMANDS"
  EOT
}
