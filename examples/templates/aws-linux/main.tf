# A workspace as an EC2 instance with Linux. A stopped workspace is a stopped instance,
# which keeps its disk.

terraform {
  required_providers {
    coder = {
      source  = "coder/coder"
      version = ">= 2.0.0"
    }
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.0"
    }
  }
}

variable "subnet_id" {
  type        = string
  default     = ""
  description = "Subnet of the instances. Empty means a default subnet of the region."
}

variable "instance_profile" {
  type        = string
  default     = ""
  description = "Name of the IAM instance profile of the instances. Empty means none."
}

provider "aws" {
  region = data.coder_parameter.region.value
}

data "coder_workspace" "me" {}
data "coder_workspace_owner" "me" {}

data "coder_parameter" "region" {
  name         = "region"
  display_name = "Region"
  description  = "Where the instance runs. It cannot be changed later."
  form_type    = "dropdown"
  default      = "us-east-1"
  mutable      = false
  order        = 1

  option {
    name  = "US East (N. Virginia)"
    value = "us-east-1"
  }
  option {
    name  = "US West (Oregon)"
    value = "us-west-2"
  }
  option {
    name  = "Europe (Frankfurt)"
    value = "eu-central-1"
  }
  option {
    name  = "Europe (Ireland)"
    value = "eu-west-1"
  }
  option {
    name  = "Asia Pacific (Singapore)"
    value = "ap-southeast-1"
  }
  option {
    name  = "Asia Pacific (Tokyo)"
    value = "ap-northeast-1"
  }
}

data "coder_parameter" "instance_type" {
  name         = "instance_type"
  display_name = "Instance type"
  form_type    = "dropdown"
  default      = "t3.large"
  mutable      = true
  order        = 2

  option {
    name  = "2 vCPU, 4 GiB"
    value = "t3.medium"
  }
  option {
    name  = "2 vCPU, 8 GiB"
    value = "t3.large"
  }
  option {
    name  = "4 vCPU, 16 GiB"
    value = "t3.xlarge"
  }
  option {
    name  = "8 vCPU, 32 GiB"
    value = "t3.2xlarge"
  }
}

data "coder_parameter" "disk" {
  name         = "disk"
  display_name = "Disk (GiB)"
  description  = "Size of the disk. It can be increased later."
  type         = "number"
  default      = "30"
  mutable      = true
  order        = 3

  validation {
    min       = 10
    max       = 1000
    monotonic = "increasing"
  }
}

data "aws_ami" "ubuntu" {
  most_recent = true
  owners      = ["099720109477"] # Canonical

  filter {
    name   = "name"
    values = ["ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-*"]
  }
}

resource "coder_agent" "main" {
  os   = "linux"
  arch = "amd64"
  auth = "aws-instance-identity"

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
  # cloud-init creates the user and starts the agent at every boot. The instance's
  # identity authenticates the agent, so that no token is in its metadata.
  cloud_config = join("\n", ["#cloud-config", jsonencode({
    users = [{
      name  = "coder"
      shell = "/bin/bash"
      sudo  = "ALL=(ALL) NOPASSWD:ALL"
    }]
    write_files = [
      {
        path        = "/opt/coder/init"
        permissions = "0755"
        encoding    = "b64"
        content     = base64encode(coder_agent.main.init_script)
      },
      {
        path    = "/etc/systemd/system/coder-agent.service"
        content = file("${path.module}/coder-agent.service")
      },
    ]
    runcmd = [["systemctl", "enable", "--now", "coder-agent.service"]]
  })])
}

resource "aws_instance" "workspace" {
  ami                  = data.aws_ami.ubuntu.id
  instance_type        = data.coder_parameter.instance_type.value
  subnet_id            = var.subnet_id != "" ? var.subnet_id : null
  iam_instance_profile = var.instance_profile != "" ? var.instance_profile : null
  user_data_base64     = base64encode(local.cloud_config)

  metadata_options {
    http_tokens = "required"
  }

  root_block_device {
    volume_type = "gp3"
    volume_size = data.coder_parameter.disk.value
    encrypted   = true
  }

  tags = {
    Name              = "coder-${data.coder_workspace_owner.me.name}-${data.coder_workspace.me.name}"
    Coder_Workspace   = data.coder_workspace.me.id
    Coder_Provisioned = "true"
  }

  # A newer image would replace the instance and its disk.
  lifecycle {
    ignore_changes = [ami]
  }
}

resource "aws_ec2_instance_state" "workspace" {
  instance_id = aws_instance.workspace.id
  state       = data.coder_workspace.me.transition == "start" ? "running" : "stopped"
}

resource "coder_metadata" "workspace" {
  resource_id = aws_instance.workspace.id

  item {
    key   = "region"
    value = data.coder_parameter.region.value
  }
  item {
    key   = "disk"
    value = "${data.coder_parameter.disk.value} GiB"
  }
}
