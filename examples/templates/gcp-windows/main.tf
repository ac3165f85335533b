# A workspace as a Compute Engine instance with Windows. The instance exists while the
# workspace is started; its disk stays.

terraform {
  required_providers {
    coder = {
      source  = "coder/coder"
      version = ">= 2.0.0"
    }
    google = {
      source  = "hashicorp/google"
      version = "~> 6.0"
    }
  }
}

variable "project_id" {
  type        = string
  description = "ID of the Google Cloud project of the workspaces."
}

variable "network" {
  type        = string
  default     = "default"
  description = "VPC network of the instances."
}

provider "google" {
  project = var.project_id
  zone    = data.coder_parameter.zone.value
}

data "coder_workspace" "me" {}
data "coder_workspace_owner" "me" {}

data "coder_parameter" "zone" {
  name         = "zone"
  display_name = "Zone"
  description  = "Where the instance runs. It cannot be changed later."
  form_type    = "dropdown"
  default      = "us-central1-a"
  mutable      = false
  order        = 1

  option {
    name  = "Iowa (us-central1-a)"
    value = "us-central1-a"
  }
  option {
    name  = "South Carolina (us-east1-b)"
    value = "us-east1-b"
  }
  option {
    name  = "Belgium (europe-west1-b)"
    value = "europe-west1-b"
  }
  option {
    name  = "Frankfurt (europe-west3-a)"
    value = "europe-west3-a"
  }
  option {
    name  = "Singapore (asia-southeast1-a)"
    value = "asia-southeast1-a"
  }
}

data "coder_parameter" "machine_type" {
  name         = "machine_type"
  display_name = "Machine type"
  form_type    = "dropdown"
  default      = "e2-standard-4"
  mutable      = true
  order        = 2

  option {
    name  = "2 vCPU, 8 GiB"
    value = "e2-standard-2"
  }
  option {
    name  = "4 vCPU, 16 GiB"
    value = "e2-standard-4"
  }
  option {
    name  = "8 vCPU, 32 GiB"
    value = "e2-standard-8"
  }
}

data "coder_parameter" "disk" {
  name         = "disk"
  display_name = "Disk (GiB)"
  description  = "Size of the disk. It can be increased later."
  type         = "number"
  default      = "60"
  mutable      = true
  order        = 3

  validation {
    min       = 50
    max       = 1000
    monotonic = "increasing"
  }
}

resource "coder_agent" "main" {
  os   = "windows"
  arch = "amd64"
  auth = "google-instance-identity"
}

resource "google_compute_disk" "root" {
  name  = "coder-${data.coder_workspace.me.id}-root"
  type  = "pd-balanced"
  zone  = data.coder_parameter.zone.value
  size  = data.coder_parameter.disk.value
  image = "windows-cloud/windows-2022"

  # A newer image would replace the disk.
  lifecycle {
    ignore_changes = [name, image]
  }
}

resource "google_compute_instance" "workspace" {
  count = data.coder_workspace.me.start_count

  name         = "coder-${data.coder_workspace.me.id}"
  machine_type = data.coder_parameter.machine_type.value
  zone         = data.coder_parameter.zone.value

  boot_disk {
    auto_delete = false
    source      = google_compute_disk.root.name
  }

  network_interface {
    network = var.network
    # An external address, for traffic to the internet.
    access_config {}
  }

  metadata = {
    "windows-startup-script-ps1" = templatefile("${path.module}/install.ps1.tftpl", { script = base64encode(coder_agent.main.init_script) })
  }

  labels = {
    coder-workspace = data.coder_workspace.me.id
  }
}

resource "coder_metadata" "workspace" {
  count       = data.coder_workspace.me.start_count
  resource_id = google_compute_instance.workspace[0].id

  item {
    key   = "zone"
    value = data.coder_parameter.zone.value
  }
  item {
    key   = "type"
    value = data.coder_parameter.machine_type.value
  }
}
