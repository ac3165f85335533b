# A workspace as an EC2 instance with Windows. A stopped workspace is a stopped instance,
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
  default      = "t3.xlarge"
  mutable      = true
  order        = 2

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
  default      = "60"
  mutable      = true
  order        = 3

  validation {
    min       = 50
    max       = 1000
    monotonic = "increasing"
  }
}

data "aws_ami" "windows" {
  most_recent = true
  owners      = ["amazon"]

  filter {
    name   = "name"
    values = ["Windows_Server-2022-English-Full-Base-*"]
  }
}

resource "coder_agent" "main" {
  os   = "windows"
  arch = "amd64"
  auth = "aws-instance-identity"
}

resource "aws_instance" "workspace" {
  ami                  = data.aws_ami.windows.id
  instance_type        = data.coder_parameter.instance_type.value
  subnet_id            = var.subnet_id != "" ? var.subnet_id : null
  iam_instance_profile = var.instance_profile != "" ? var.instance_profile : null

  user_data = join("\n", [
    "<powershell>",
    templatefile("${path.module}/install.ps1.tftpl", { script = base64encode(coder_agent.main.init_script) }),
    "</powershell>",
  ])

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
