# JupyterLab in a virtual environment. The image needs Python 3 with venv.

variable "jupyterlab_port" {
  type        = number
  default     = 19999
  description = "Port of JupyterLab in the workspace."
}

resource "coder_env" "jupyterlab_port" {
  agent_id = coder_agent.main.id
  name     = "JUPYTERLAB_PORT"
  value    = tostring(var.jupyterlab_port)
}

# JupyterLab must know the path of its app, because it serves absolute links.
resource "coder_env" "jupyterlab_base" {
  agent_id = coder_agent.main.id
  name     = "JUPYTERLAB_BASE"
  value    = "/@${data.coder_workspace_owner.me.name}/${data.coder_workspace.me.name}/apps/jupyterlab/"
}

resource "coder_script" "jupyterlab" {
  agent_id     = coder_agent.main.id
  display_name = "JupyterLab"
  icon         = "/icon/jupyter.svg"
  run_on_start = true
  script       = <<-EOT
    #!/bin/sh
    set -e
    venv="$HOME/.local/share/jupyterlab"
    if [ ! -x "$venv/bin/jupyter-lab" ]; then
      python3 -m venv "$venv"
      "$venv/bin/pip" install --quiet jupyterlab
    fi
    nohup "$venv/bin/jupyter-lab" --no-browser --ip=127.0.0.1 --port="$JUPYTERLAB_PORT" --ServerApp.base_url="$JUPYTERLAB_BASE" \
      --IdentityProvider.token= --ServerApp.allow_remote_access=True >/tmp/jupyterlab.log 2>&1 &
  EOT
}

resource "coder_app" "jupyterlab" {
  agent_id     = coder_agent.main.id
  slug         = "jupyterlab"
  display_name = "JupyterLab"
  icon         = "/icon/jupyter.svg"
  url          = "http://localhost:${var.jupyterlab_port}/@${data.coder_workspace_owner.me.name}/${data.coder_workspace.me.name}/apps/jupyterlab/"

  healthcheck {
    url       = "http://localhost:${var.jupyterlab_port}/@${data.coder_workspace_owner.me.name}/${data.coder_workspace.me.name}/apps/jupyterlab/api"
    interval  = 5
    threshold = 24
  }
}
