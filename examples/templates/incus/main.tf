# A workspace as an Incus container, with its home directory on a storage volume.

terraform {
  required_providers {
    coder = {
      source  = "coder/coder"
      version = ">= 2.0.0"
    }
    incus = {
      source  = "lxc/incus"
      version = "~> 0.3"
    }
  }
}

variable "remote" {
  type        = string
  default     = "local"
  description = "Incus remote of the provisioner that runs the containers."
}

variable "pool" {
  type        = string
  default     = "default"
  description = "Storage pool of the containers and of the home volumes."
}

provider "incus" {}

data "coder_provisioner" "me" {}
data "coder_workspace" "me" {}
data "coder_workspace_owner" "me" {}

data "coder_parameter" "image" {
  name         = "image"
  display_name = "Image"
  description  = "Image of the container. The variant cloud has cloud-init, which starts the agent."
  form_type    = "dropdown"
  default      = "images:debian/12/cloud"
  mutable      = true
  order        = 1

  option {
    name  = "Debian 12"
    value = "images:debian/12/cloud"
  }
  option {
    name  = "Ubuntu 24.04"
    value = "images:ubuntu/24.04/cloud"
  }
  option {
    name  = "Fedora 42"
    value = "images:fedora/42/cloud"
  }
}

data "coder_parameter" "cpu" {
  name         = "cpu"
  display_name = "CPU (cores)"
  type         = "number"
  form_type    = "slider"
  default      = "2"
  mutable      = true
  order        = 2

  validation {
    min = 1
    max = 16
  }
}

data "coder_parameter" "memory" {
  name         = "memory"
  display_name = "Memory (GiB)"
  type         = "number"
  form_type    = "slider"
  default      = "4"
  mutable      = true
  order        = 3

  validation {
    min = 1
    max = 64
  }
}

resource "coder_agent" "main" {
  os   = "linux"
  arch = data.coder_provisioner.me.arch

  metadata {
    key          = "load"
    display_name = "Load"
    script       = "cut -d' ' -f1-3 /proc/loadavg"
    interval     = 15
    timeout      = 2
  }

  metadata {
    key          = "home"
    display_name = "Home disk"
    script       = "df -h \"$HOME\" | awk 'NR==2 {print $3 \" of \" $2}'"
    interval     = 120
    timeout      = 5
  }
}

locals {
  name = "coder-${data.coder_workspace.me.id}"

  # cloud-init creates the user and starts the agent. Every start creates a new
  # container, so that it has the new token.
  cloud_config = join("\n", ["#cloud-config", jsonencode({
    users = [{
      name   = "coder"
      uid    = 1000
      shell  = "/bin/bash"
      groups = "users"
      sudo   = "ALL=(ALL) NOPASSWD:ALL"
    }]
    package_update = true
    packages       = ["curl", "git"]
    write_files = [
      {
        path        = "/opt/coder/init"
        permissions = "0755"
        encoding    = "b64"
        content     = base64encode(coder_agent.main.init_script)
      },
      {
        path        = "/opt/coder/token"
        permissions = "0400"
        content     = "CODER_AGENT_TOKEN=${coder_agent.main.token}"
      },
      {
        path    = "/etc/systemd/system/coder-agent.service"
        content = file("${path.module}/coder-agent.service")
      },
    ]
    runcmd = [
      ["chown", "coder:coder", "/home/coder"],
      ["systemctl", "enable", "--now", "coder-agent.service"],
    ]
  })])
}

resource "incus_storage_volume" "home" {
  remote = var.remote
  pool   = var.pool
  name   = "${local.name}-home"

  # The volume contains the user's work, so only deleting the workspace may
  # destroy it.
  lifecycle {
    ignore_changes = [pool, name]
  }
}

resource "incus_instance" "workspace" {
  count = data.coder_workspace.me.start_count

  remote = var.remote
  name   = local.name
  image  = data.coder_parameter.image.value

  config = {
    "limits.cpu"           = data.coder_parameter.cpu.value
    "limits.memory"        = "${data.coder_parameter.memory.value}GiB"
    "cloud-init.user-data" = local.cloud_config
    "user.coder-workspace" = data.coder_workspace.me.id
  }

  device {
    name = "root"
    type = "disk"
    properties = {
      path = "/"
      pool = var.pool
    }
  }

  device {
    name = "home"
    type = "disk"
    properties = {
      path   = "/home/coder"
      pool   = var.pool
      source = incus_storage_volume.home.name
    }
  }
}

resource "coder_metadata" "workspace" {
  count       = data.coder_workspace.me.start_count
  resource_id = incus_instance.workspace[0].name

  item {
    key   = "image"
    value = data.coder_parameter.image.value
  }
}
