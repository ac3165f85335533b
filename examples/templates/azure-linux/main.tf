# A workspace as an Azure virtual machine with Linux. The machine exists while the
# workspace is started; its data disk stays.

terraform {
  required_providers {
    coder = {
      source  = "coder/coder"
      version = ">= 2.0.0"
    }
    azurerm = {
      source  = "hashicorp/azurerm"
      version = "~> 4.0"
    }
    tls = {
      source  = "hashicorp/tls"
      version = "~> 4.0"
    }
  }
}

provider "azurerm" {
  features {}
}

data "coder_workspace" "me" {}
data "coder_workspace_owner" "me" {}

data "coder_parameter" "location" {
  name         = "location"
  display_name = "Location"
  description  = "Where the machine runs. It cannot be changed later."
  form_type    = "dropdown"
  default      = "eastus"
  mutable      = false
  order        = 1

  option {
    name  = "East US"
    value = "eastus"
  }
  option {
    name  = "West US 2"
    value = "westus2"
  }
  option {
    name  = "West Europe"
    value = "westeurope"
  }
  option {
    name  = "Germany West Central"
    value = "germanywestcentral"
  }
  option {
    name  = "Southeast Asia"
    value = "southeastasia"
  }
}

data "coder_parameter" "size" {
  name         = "size"
  display_name = "Size"
  form_type    = "dropdown"
  default      = "Standard_D2s_v5"
  mutable      = true
  order        = 2

  option {
    name  = "2 vCPU, 8 GiB"
    value = "Standard_D2s_v5"
  }
  option {
    name  = "4 vCPU, 16 GiB"
    value = "Standard_D4s_v5"
  }
  option {
    name  = "8 vCPU, 32 GiB"
    value = "Standard_D8s_v5"
  }
}

data "coder_parameter" "disk" {
  name         = "disk"
  display_name = "Data disk (GiB)"
  description  = "Size of the disk with your files. It can be increased later."
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

resource "coder_agent" "main" {
  os   = "linux"
  arch = "amd64"
  auth = "azure-instance-identity"

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
        path        = "/opt/coder/mount-home"
        permissions = "0755"
        content     = file("${path.module}/mount-home.sh")
      },
      {
        path    = "/etc/systemd/system/coder-agent.service"
        content = file("${path.module}/coder-agent.service")
      },
    ]
    runcmd = [["systemctl", "enable", "--now", "coder-agent.service"]]
  })])
}

resource "azurerm_resource_group" "workspace" {
  name     = "coder-${data.coder_workspace.me.id}"
  location = data.coder_parameter.location.value

  tags = {
    Coder_Workspace = data.coder_workspace.me.id
    Coder_Owner     = data.coder_workspace_owner.me.name
  }
}

resource "azurerm_virtual_network" "workspace" {
  name                = "network"
  address_space       = ["10.0.0.0/24"]
  location            = azurerm_resource_group.workspace.location
  resource_group_name = azurerm_resource_group.workspace.name
}

resource "azurerm_subnet" "workspace" {
  name                 = "workspace"
  resource_group_name  = azurerm_resource_group.workspace.name
  virtual_network_name = azurerm_virtual_network.workspace.name
  address_prefixes     = ["10.0.0.0/29"]
}

# A public address, for traffic to the internet. No inbound connection is allowed.
resource "azurerm_public_ip" "workspace" {
  name                = "address"
  location            = azurerm_resource_group.workspace.location
  resource_group_name = azurerm_resource_group.workspace.name
  allocation_method   = "Static"
  sku                 = "Standard"
}

resource "azurerm_network_interface" "workspace" {
  name                = "interface"
  location            = azurerm_resource_group.workspace.location
  resource_group_name = azurerm_resource_group.workspace.name

  ip_configuration {
    name                          = "internal"
    subnet_id                     = azurerm_subnet.workspace.id
    private_ip_address_allocation = "Dynamic"
    public_ip_address_id          = azurerm_public_ip.workspace.id
  }
}

resource "azurerm_managed_disk" "home" {
  name                 = "home"
  location             = azurerm_resource_group.workspace.location
  resource_group_name  = azurerm_resource_group.workspace.name
  storage_account_type = "StandardSSD_LRS"
  create_option        = "Empty"
  disk_size_gb         = data.coder_parameter.disk.value
}

# Azure requires a key of the administrator. Nobody signs in with it.
resource "tls_private_key" "admin" {
  algorithm = "RSA"
  rsa_bits  = 4096
}

resource "azurerm_linux_virtual_machine" "workspace" {
  count = data.coder_workspace.me.start_count

  name                  = "workspace"
  computer_name         = lower(data.coder_workspace.me.name)
  location              = azurerm_resource_group.workspace.location
  resource_group_name   = azurerm_resource_group.workspace.name
  network_interface_ids = [azurerm_network_interface.workspace.id]
  size                  = data.coder_parameter.size.value
  admin_username        = "azureadmin"
  custom_data           = base64encode(local.cloud_config)

  admin_ssh_key {
    username   = "azureadmin"
    public_key = tls_private_key.admin.public_key_openssh
  }

  os_disk {
    caching              = "ReadWrite"
    storage_account_type = "StandardSSD_LRS"
  }

  source_image_reference {
    publisher = "Canonical"
    offer     = "ubuntu-24_04-lts"
    sku       = "server"
    version   = "latest"
  }
}

resource "azurerm_virtual_machine_data_disk_attachment" "home" {
  count = data.coder_workspace.me.start_count

  managed_disk_id    = azurerm_managed_disk.home.id
  virtual_machine_id = azurerm_linux_virtual_machine.workspace[0].id
  lun                = 10
  caching            = "ReadWrite"
}

resource "coder_metadata" "workspace" {
  count       = data.coder_workspace.me.start_count
  resource_id = azurerm_linux_virtual_machine.workspace[0].id

  item {
    key   = "location"
    value = data.coder_parameter.location.value
  }
  item {
    key   = "size"
    value = data.coder_parameter.size.value
  }
}
