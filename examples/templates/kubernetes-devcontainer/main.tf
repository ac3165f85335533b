# A workspace as a pod that builds and becomes the dev container of a repository. The
# repository is on a PersistentVolumeClaim.

terraform {
  required_providers {
    coder = {
      source  = "coder/coder"
      version = ">= 2.0.0"
    }
    kubernetes = {
      source  = "hashicorp/kubernetes"
      version = "~> 2.30"
    }
  }
}

variable "namespace" {
  type        = string
  description = "Namespace of the workspaces. It must exist."
}

variable "use_kubeconfig" {
  type        = bool
  default     = false
  description = "Whether the provisioner uses ~/.kube/config instead of its service account."
}

variable "builder_image" {
  type        = string
  default     = "ghcr.io/coder/envbuilder:latest"
  description = "Image of envbuilder, which builds the dev container in the pod. Set a fixed tag or digest for production."
}

variable "fallback_image" {
  type        = string
  default     = "buildpack-deps:bookworm"
  description = "Image of workspaces whose repository has no devcontainer.json."
}

variable "cache_repository" {
  type        = string
  default     = ""
  description = "Repository of a container registry that caches layers, such as registry.example.com/devcontainers. Empty means none."
}

provider "kubernetes" {
  config_path = var.use_kubeconfig ? "~/.kube/config" : null
}

data "coder_workspace" "me" {}
data "coder_workspace_owner" "me" {}

data "coder_parameter" "repository" {
  name         = "repository"
  display_name = "Repository"
  description  = "URL of a Git repository with a devcontainer.json."
  default      = "https://github.com/devcontainers/template-starter"
  mutable      = true
  order        = 1

  validation {
    regex = "^https?://\\S+$"
    error = "Enter the https:// URL of a Git repository."
  }
}

data "coder_parameter" "cpu" {
  name         = "cpu"
  display_name = "CPU (cores)"
  type         = "number"
  form_type    = "dropdown"
  default      = "2"
  mutable      = true
  order        = 2

  dynamic "option" {
    for_each = ["1", "2", "4", "8"]
    content {
      name  = "${option.value} cores"
      value = option.value
    }
  }
}

data "coder_parameter" "memory" {
  name         = "memory"
  display_name = "Memory (GiB)"
  type         = "number"
  form_type    = "dropdown"
  default      = "4"
  mutable      = true
  order        = 3

  dynamic "option" {
    for_each = ["2", "4", "8", "16", "32"]
    content {
      name  = "${option.value} GiB"
      value = option.value
    }
  }
}

data "coder_parameter" "disk" {
  name         = "disk"
  display_name = "Disk (GiB)"
  description  = "Size of the disk with the repository. It cannot be changed later."
  type         = "number"
  default      = "10"
  mutable      = false
  order        = 4

  validation {
    min = 1
    max = 1000
  }
}

locals {
  workspaces = "/workspaces"
  name       = "coder-${data.coder_workspace.me.id}"
  labels = {
    "app.kubernetes.io/name"       = "coder-workspace"
    "app.kubernetes.io/instance"   = local.name
    "app.kubernetes.io/managed-by" = "coder"
    "coder.com/workspace-id"       = data.coder_workspace.me.id
    "coder.com/workspace-name"     = data.coder_workspace.me.name
    "coder.com/owner-name"         = data.coder_workspace_owner.me.name
  }
}

resource "coder_agent" "main" {
  os   = "linux"
  arch = "amd64"

  metadata {
    key          = "cpu"
    display_name = "Load"
    script       = "cut -d' ' -f1-3 /proc/loadavg"
    interval     = 15
    timeout      = 2
  }

  metadata {
    key          = "disk"
    display_name = "Disk"
    script       = "df -h /workspaces | awk 'NR==2 {print $3 \" of \" $2}'"
    interval     = 120
    timeout      = 5
  }
}

resource "kubernetes_persistent_volume_claim_v1" "workspaces" {
  metadata {
    name      = "${local.name}-workspaces"
    namespace = var.namespace
    labels    = local.labels
  }

  # A class that binds late would wait for a pod that waits for this build.
  wait_until_bound = false

  spec {
    access_modes = ["ReadWriteOnce"]
    resources {
      requests = { storage = "${data.coder_parameter.disk.value}Gi" }
    }
  }

  lifecycle {
    ignore_changes = [metadata[0].labels]
  }
}

resource "kubernetes_deployment_v1" "workspace" {
  count = data.coder_workspace.me.start_count

  # The build is done when the pod is asked for; the agent reports the rest.
  wait_for_rollout = false

  metadata {
    name      = local.name
    namespace = var.namespace
    labels    = local.labels
  }

  spec {
    replicas = 1
    # Two pods cannot use the volume at the same time.
    strategy {
      type = "Recreate"
    }
    selector {
      match_labels = { "app.kubernetes.io/instance" = local.name }
    }

    template {
      metadata {
        labels = local.labels
      }

      spec {
        automount_service_account_token = false

        container {
          name  = "dev"
          image = var.builder_image

          # envbuilder replaces the file system of its container, which requires root.
          security_context {
            run_as_user                = 0
            run_as_non_root            = false
            allow_privilege_escalation = true
          }

          env {
            name  = "CODER_AGENT_TOKEN"
            value = coder_agent.main.token
          }
          env {
            name  = "CODER_AGENT_URL"
            value = data.coder_workspace.me.access_url
          }
          env {
            name  = "ENVBUILDER_GIT_URL"
            value = data.coder_parameter.repository.value
          }
          env {
            name  = "ENVBUILDER_INIT_SCRIPT"
            value = coder_agent.main.init_script
          }
          env {
            name  = "ENVBUILDER_FALLBACK_IMAGE"
            value = var.fallback_image
          }
          dynamic "env" {
            for_each = var.cache_repository != "" ? [var.cache_repository] : []
            content {
              name  = "ENVBUILDER_CACHE_REPO"
              value = env.value
            }
          }

          resources {
            requests = {
              cpu    = "250m"
              memory = "512Mi"
            }
            limits = {
              cpu    = data.coder_parameter.cpu.value
              memory = "${data.coder_parameter.memory.value}Gi"
            }
          }

          volume_mount {
            name       = "workspaces"
            mount_path = local.workspaces
          }
        }

        volume {
          name = "workspaces"
          persistent_volume_claim {
            claim_name = kubernetes_persistent_volume_claim_v1.workspaces.metadata[0].name
          }
        }

        affinity {
          pod_anti_affinity {
            # Spread workspaces over the nodes.
            preferred_during_scheduling_ignored_during_execution {
              weight = 1
              pod_affinity_term {
                topology_key = "kubernetes.io/hostname"
                label_selector {
                  match_labels = { "app.kubernetes.io/name" = "coder-workspace" }
                }
              }
            }
          }
        }
      }
    }
  }
}
