# A workspace as a job of Nomad with the Docker driver, and its home directory on a
# dynamic host volume.

terraform {
  required_providers {
    coder = {
      source  = "coder/coder"
      version = ">= 2.0.0"
    }
    nomad = {
      source  = "hashicorp/nomad"
      version = "~> 2.5"
    }
  }
}

variable "address" {
  type        = string
  description = "Address of the Nomad API, such as https://nomad.example.com:4646."
}

variable "token" {
  type        = string
  default     = ""
  sensitive   = true
  description = "ACL token of the provisioner. Empty means the environment's NOMAD_TOKEN, or none."
}

variable "namespace" {
  type        = string
  default     = "default"
  description = "Namespace of the jobs and volumes. It must exist."
}

provider "nomad" {
  address   = var.address
  secret_id = var.token != "" ? var.token : null
}

data "coder_workspace" "me" {}
data "coder_workspace_owner" "me" {}

data "coder_parameter" "image" {
  name         = "image"
  display_name = "Image"
  description  = "Image of the container. It needs a shell and curl or wget."
  default      = "buildpack-deps:bookworm"
  mutable      = true
  order        = 1
}

data "coder_parameter" "cpu" {
  name         = "cpu"
  display_name = "CPU (MHz)"
  type         = "number"
  default      = "1000"
  mutable      = true
  order        = 2

  validation {
    min = 250
    max = 32000
  }
}

data "coder_parameter" "memory" {
  name         = "memory"
  display_name = "Memory (MiB)"
  type         = "number"
  default      = "2048"
  mutable      = true
  order        = 3

  validation {
    min = 512
    max = 65536
  }
}

data "coder_parameter" "disk" {
  name         = "disk"
  display_name = "Home volume (GiB)"
  description  = "Size of the home directory. It cannot be changed later."
  type         = "number"
  default      = "10"
  mutable      = false
  order        = 4

  validation {
    min = 1
    max = 1000
  }
}

resource "coder_agent" "main" {
  os   = "linux"
  arch = "amd64"

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

resource "nomad_dynamic_host_volume" "home" {
  name         = "coder-${data.coder_workspace.me.id}"
  namespace    = var.namespace
  plugin_id    = "mkdir"
  capacity_min = "${data.coder_parameter.disk.value} GiB"
  capacity_max = "${data.coder_parameter.disk.value} GiB"

  capability {
    access_mode     = "single-node-writer"
    attachment_mode = "file-system"
  }

  lifecycle {
    ignore_changes = [name, namespace]
  }
}

resource "nomad_job" "workspace" {
  count = data.coder_workspace.me.start_count

  # The job's specification is JSON, so that no value can change its structure.
  json = true
  jobspec = jsonencode({
    Job = {
      ID        = "coder-${data.coder_workspace.me.id}"
      Name      = "coder-${data.coder_workspace_owner.me.name}-${data.coder_workspace.me.name}"
      Namespace = var.namespace
      Type      = "service"
      TaskGroups = [{
        Name  = "workspace"
        Count = 1
        Volumes = {
          home = {
            Name           = "home"
            Type           = "host"
            Source         = nomad_dynamic_host_volume.home.name
            AccessMode     = "single-node-writer"
            AttachmentMode = "file-system"
          }
        }
        Tasks = [{
          Name   = "agent"
          Driver = "docker"
          Config = {
            image    = data.coder_parameter.image.value
            command  = "sh"
            args     = ["-c", coder_agent.main.init_script]
            work_dir = "/home/coder"
          }
          Env = {
            CODER_AGENT_TOKEN = coder_agent.main.token
            HOME              = "/home/coder"
          }
          VolumeMounts = [{
            Volume      = "home"
            Destination = "/home/coder"
          }]
          Resources = {
            CPU      = tonumber(data.coder_parameter.cpu.value)
            MemoryMB = tonumber(data.coder_parameter.memory.value)
          }
        }]
      }]
      Meta = {
        coder_workspace_id = data.coder_workspace.me.id
        coder_owner        = data.coder_workspace_owner.me.name
      }
    }
  })
}

resource "coder_metadata" "workspace" {
  count       = data.coder_workspace.me.start_count
  resource_id = nomad_job.workspace[0].id

  item {
    key   = "image"
    value = data.coder_parameter.image.value
  }
}
