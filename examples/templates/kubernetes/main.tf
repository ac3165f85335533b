# A workspace as a pod of a Deployment, with its home directory on a
# PersistentVolumeClaim.

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

provider "kubernetes" {
  config_path = var.use_kubeconfig ? "~/.kube/config" : null
}

data "coder_workspace" "me" {}
data "coder_workspace_owner" "me" {}

data "coder_parameter" "image" {
  name         = "image"
  display_name = "Image"
  description  = "Image of the pod. It needs a shell and curl or wget."
  default      = "buildpack-deps:bookworm"
  mutable      = true
  order        = 1
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
  display_name = "Home disk (GiB)"
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

locals {
  home = "/home/coder"
  name = "coder-${data.coder_workspace.me.id}"
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
    key          = "home"
    display_name = "Home disk"
    script       = "df -h \"$HOME\" | awk 'NR==2 {print $3 \" of \" $2}'"
    interval     = 120
    timeout      = 5
  }
}

resource "kubernetes_persistent_volume_claim_v1" "home" {
  metadata {
    name      = "${local.name}-home"
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

        security_context {
          run_as_user     = 1000
          run_as_group    = 1000
          run_as_non_root = true
          fs_group        = 1000
          seccomp_profile {
            type = "RuntimeDefault"
          }
        }

        container {
          name        = "dev"
          image       = data.coder_parameter.image.value
          command     = ["sh", "-c", coder_agent.main.init_script]
          working_dir = local.home

          # What is left out here would be set to false and 0.
          security_context {
            run_as_user                = 1000
            run_as_group               = 1000
            run_as_non_root            = true
            allow_privilege_escalation = false
            capabilities {
              drop = ["ALL"]
            }
          }

          env {
            name  = "CODER_AGENT_TOKEN"
            value = coder_agent.main.token
          }
          env {
            name  = "HOME"
            value = local.home
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
            name       = "home"
            mount_path = local.home
          }
        }

        volume {
          name = "home"
          persistent_volume_claim {
            claim_name = kubernetes_persistent_volume_claim_v1.home.metadata[0].name
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
