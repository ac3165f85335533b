# A workspace as a container, with its home directory on a volume.

terraform {
  required_providers {
    coder = {
      source  = "coder/coder"
      version = ">= 2.0.0"
    }
    docker = {
      source  = "kreuzwerker/docker"
      version = "~> 3.0"
    }
  }
}

variable "docker_host" {
  type        = string
  default     = ""
  description = "Address of the Docker daemon, such as unix:///run/user/1000/docker.sock or ssh://user@host. Empty means the provisioner's default."
}

provider "docker" {
  host = var.docker_host != "" ? var.docker_host : null
}

data "coder_provisioner" "me" {}
data "coder_workspace" "me" {}
data "coder_workspace_owner" "me" {}

data "coder_parameter" "image" {
  name         = "image"
  display_name = "Image"
  description  = "Image of the container. It needs a shell and curl or wget."
  type         = "string"
  form_type    = "dropdown"
  default      = "buildpack-deps:bookworm"
  mutable      = true
  order        = 1

  option {
    name  = "Debian with build tools"
    value = "buildpack-deps:bookworm"
  }
  option {
    name  = "Go"
    value = "golang:bookworm"
  }
  option {
    name  = "Node.js"
    value = "node:lts-bookworm"
  }
  option {
    name  = "Python"
    value = "python:3-bookworm"
  }
}

data "coder_parameter" "memory" {
  name         = "memory"
  display_name = "Memory (GiB)"
  type         = "number"
  form_type    = "slider"
  default      = "4"
  mutable      = true
  order        = 2

  validation {
    min = 1
    max = 64
  }
}

locals {
  home = "/home/coder"
  name = lower("coder-${data.coder_workspace_owner.me.name}-${data.coder_workspace.me.name}")
}

resource "coder_agent" "main" {
  os   = "linux"
  arch = data.coder_provisioner.me.arch

  env = {
    GIT_AUTHOR_NAME     = coalesce(data.coder_workspace_owner.me.full_name, data.coder_workspace_owner.me.name)
    GIT_AUTHOR_EMAIL    = data.coder_workspace_owner.me.email
    GIT_COMMITTER_NAME  = coalesce(data.coder_workspace_owner.me.full_name, data.coder_workspace_owner.me.name)
    GIT_COMMITTER_EMAIL = data.coder_workspace_owner.me.email
  }

  metadata {
    key          = "memory"
    display_name = "Memory in use"
    script       = "cat /sys/fs/cgroup/memory.current 2>/dev/null | awk '{printf \"%.1f MiB\", $1/1048576}'"
    interval     = 15
    timeout      = 2
  }

  metadata {
    key          = "home"
    display_name = "Home volume"
    script       = "df -h \"$HOME\" | awk 'NR==2 {print $3 \" of \" $2}'"
    interval     = 120
    timeout      = 5
  }
}

resource "docker_volume" "home" {
  name = "coder-${data.coder_workspace.me.id}-home"

  # The volume contains the user's work, so only deleting the workspace may
  # destroy it.
  lifecycle {
    ignore_changes = all
  }

  labels {
    label = "coder.workspace_id"
    value = data.coder_workspace.me.id
  }
}

resource "docker_image" "workspace" {
  name         = data.coder_parameter.image.value
  keep_locally = true
}

resource "docker_container" "workspace" {
  count = data.coder_workspace.me.start_count

  name     = local.name
  hostname = lower(data.coder_workspace.me.name)
  image    = docker_image.workspace.image_id
  memory   = tonumber(data.coder_parameter.memory.value) * 1024
  init     = true

  # Inside the container a server on this machine is called differently.
  entrypoint = ["sh", "-c", replace(coder_agent.main.init_script, "/localhost|127\\.0\\.0\\.1/", "host.docker.internal")]
  env = [
    "CODER_AGENT_TOKEN=${coder_agent.main.token}",
    "HOME=${local.home}",
  ]
  working_dir = local.home

  host {
    host = "host.docker.internal"
    ip   = "host-gateway"
  }

  volumes {
    container_path = local.home
    volume_name    = docker_volume.home.name
  }

  labels {
    label = "coder.workspace_id"
    value = data.coder_workspace.me.id
  }
  labels {
    label = "coder.owner"
    value = data.coder_workspace_owner.me.name
  }
}

resource "coder_metadata" "container" {
  count       = data.coder_workspace.me.start_count
  resource_id = docker_container.workspace[0].id

  item {
    key   = "image"
    value = data.coder_parameter.image.value
  }
}
