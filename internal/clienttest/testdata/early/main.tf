# An agent whose token is used for log lines while its build still runs.

terraform {
  required_providers {
    coder = {
      source  = "coder/coder"
      version = ">= 2.5"
    }
  }
}

data "coder_workspace" "me" {}

resource "coder_agent" "main" {
  os   = "linux"
  arch = "amd64"
}

resource "terraform_data" "pod" {
  count = data.coder_workspace.me.start_count

  # Fails the build when the server does not take the line.
  provisioner "local-exec" {
    command = "curl -fsS --retry 10 --retry-all-errors --retry-delay 1 -X PATCH -H 'Content-Type: application/json' -H \"Coder-Session-Token: $TOKEN\" -d '{\"logs\":[{\"output\":\"before the build ended\",\"level\":\"info\"}]}' \"$URL/api/v2/workspaceagents/me/logs\""
    environment = {
      URL   = data.coder_workspace.me.access_url
      TOKEN = nonsensitive(coder_agent.main.token)
    }
  }
}
