# A workspace as a directory and a process on a machine that the provisioner reaches with
# SSH.

terraform {
  required_providers {
    coder = {
      source  = "coder/coder"
      version = ">= 2.0.0"
    }
  }
}

variable "host" {
  type        = string
  description = "Name or address of the machine."
}

variable "port" {
  type        = number
  default     = 22
  description = "Port of the SSH server."
}

variable "user" {
  type        = string
  description = "User that the agents run as."
}

variable "private_key" {
  type        = string
  sensitive   = true
  description = "Private key of the user, in PEM or OpenSSH format, without a passphrase."
}

variable "host_key" {
  type        = string
  default     = ""
  description = "Public key of the machine, such as \"ssh-ed25519 AAAA...\". Empty means that it is not verified."
}

variable "architecture" {
  type        = string
  default     = "amd64"
  description = "Architecture of the machine: amd64, arm64 or armv7."
}

data "coder_workspace" "me" {}
data "coder_workspace_owner" "me" {}

resource "coder_agent" "main" {
  os   = "linux"
  arch = var.architecture

  metadata {
    key          = "load"
    display_name = "Load of the machine"
    script       = "cut -d' ' -f1-3 /proc/loadavg"
    interval     = 30
    timeout      = 2
  }

  metadata {
    key          = "home"
    display_name = "Size of the home directory"
    script       = "du -sh \"$HOME\" 2>/dev/null | cut -f1"
    interval     = 300
    timeout      = 60
  }
}

locals {
  # Provisioners that run when a resource is destroyed can only refer to the
  # resource, so each keeps what it needs.
  machine = {
    host        = var.host
    port        = var.port
    user        = var.user
    private_key = var.private_key
    host_key    = var.host_key
    directory   = "coder-workspaces/${data.coder_workspace.me.id}"
  }
}

# The directory stays as long as the workspace exists.
resource "terraform_data" "directory" {
  input = local.machine

  connection {
    host        = self.input.host
    port        = self.input.port
    user        = self.input.user
    private_key = self.input.private_key
    host_key    = self.input.host_key != "" ? self.input.host_key : null
  }

  provisioner "remote-exec" {
    inline = ["mkdir -p -m 700 '${self.input.directory}' '${self.input.directory}/home'"]
  }

  provisioner "file" {
    source      = "${path.module}/agent.sh"
    destination = "${self.input.directory}/agent.sh"
  }

  provisioner "remote-exec" {
    when   = destroy
    inline = ["rm -rf '${self.input.directory}'"]
  }

  lifecycle {
    ignore_changes = [input]
  }
}

# The agent runs while the workspace is started.
resource "terraform_data" "process" {
  count = data.coder_workspace.me.start_count

  input = terraform_data.directory.output

  # Every start creates a new token, which only a new process knows.
  triggers_replace = [
    sha256(coder_agent.main.token),
    coder_agent.main.init_script,
  ]

  connection {
    host        = self.input.host
    port        = self.input.port
    user        = self.input.user
    private_key = self.input.private_key
    host_key    = self.input.host_key != "" ? self.input.host_key : null
  }

  provisioner "file" {
    content     = coder_agent.main.init_script
    destination = "${self.input.directory}/init.sh"
  }

  provisioner "file" {
    content     = coder_agent.main.token
    destination = "${self.input.directory}/token"
  }

  provisioner "remote-exec" {
    inline = ["sh '${self.input.directory}/agent.sh' start"]
  }

  provisioner "remote-exec" {
    when   = destroy
    inline = ["sh '${self.input.directory}/agent.sh' stop"]
  }
}

resource "coder_metadata" "process" {
  count       = data.coder_workspace.me.start_count
  resource_id = terraform_data.process[0].id

  item {
    key   = "machine"
    value = var.host
  }
}
