# What programs inside of a workspace meet, beside the template "local".

resource "coder_app" "web" {
  agent_id     = coder_agent.main.id
  slug         = "web"
  display_name = "Web"
  url          = "http://127.0.0.1:1"
  share        = "owner"
}

resource "coder_env" "greeting" {
  agent_id = coder_agent.main.id
  name     = "GREETING"
  value    = "hello"
}

resource "coder_script" "order" {
  agent_id     = coder_agent.main.id
  display_name = "Order"
  run_on_start = true
  script       = <<-EOT
    set -e
    env > "$HOME/script.env"
    touch "$CODER_SCRIPT_DATA_DIR/kept"
    printf '#!/bin/sh\necho linked\n' > "$CODER_SCRIPT_BIN_DIR/linked"
    chmod +x "$CODER_SCRIPT_BIN_DIR/linked"
    printf '%s' '${base64encode(coder_agent.main.init_script)}' | base64 -d > "$HOME/init.sh"
    printf '%s' '${data.coder_workspace.me.access_url} ${data.coder_workspace.me.start_count} ${data.coder_workspace.me.transition} ${data.coder_workspace.me.template_name} ${data.coder_workspace_owner.me.email}' > "$HOME/facts"
  EOT
}
