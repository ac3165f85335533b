# code-server: VS Code in the browser. Its password is off, because the server
# authenticates users of the app.

variable "code_server_port" {
  type        = number
  default     = 13337
  description = "Port of code-server in the workspace."
}

variable "code_server_version" {
  type        = string
  default     = ""
  description = "Version of code-server, such as 4.96.4. Empty means the latest one."
}

variable "code_server_folder" {
  type        = string
  default     = ""
  description = "Folder to open, such as /home/coder/project. Empty means the home directory."
}

resource "coder_env" "code_server_port" {
  agent_id = coder_agent.main.id
  name     = "CODE_SERVER_PORT"
  value    = tostring(var.code_server_port)
}

resource "coder_env" "code_server_version" {
  agent_id = coder_agent.main.id
  name     = "CODE_SERVER_VERSION"
  value    = var.code_server_version
}

resource "coder_script" "code_server" {
  agent_id     = coder_agent.main.id
  display_name = "code-server"
  icon         = "/icon/code.svg"
  run_on_start = true
  script       = <<-EOT
    #!/bin/sh
    set -e
    bin="$HOME/.local/bin/code-server"
    if [ ! -x "$bin" ] || { [ -n "$CODE_SERVER_VERSION" ] && ! "$bin" --version | grep -q "^$CODE_SERVER_VERSION "; }; then
      set -- --method standalone --prefix "$HOME/.local"
      [ -z "$CODE_SERVER_VERSION" ] || set -- "$@" --version "$CODE_SERVER_VERSION"
      curl -fsSL https://code-server.dev/install.sh | sh -s -- "$@"
    fi
    nohup "$bin" --auth none --bind-addr "127.0.0.1:$CODE_SERVER_PORT" >/tmp/code-server.log 2>&1 &
  EOT
}

resource "coder_app" "code_server" {
  agent_id     = coder_agent.main.id
  slug         = "code-server"
  display_name = "code-server"
  icon         = "/icon/code.svg"
  url          = var.code_server_folder == "" ? "http://localhost:${var.code_server_port}/" : "http://localhost:${var.code_server_port}/?folder=${urlencode(var.code_server_folder)}"

  healthcheck {
    url       = "http://localhost:${var.code_server_port}/healthz"
    interval  = 5
    threshold = 12
  }
}
