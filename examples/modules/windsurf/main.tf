# A button that opens the workspace in Windsurf. The user needs the extension
# coder.coder-remote in Windsurf.

variable "windsurf_folder" {
  type        = string
  default     = ""
  description = "Folder to open. Empty means the home directory."
}

resource "coder_app" "windsurf" {
  agent_id     = coder_agent.main.id
  slug         = "windsurf"
  display_name = "Windsurf"
  icon         = "/icon/windsurf.svg"
  external     = true
  url = join("", [
    "windsurf://coder.coder-remote/open",
    "?owner=${data.coder_workspace_owner.me.name}",
    "&workspace=${data.coder_workspace.me.name}",
    "&folder=${urlencode(var.windsurf_folder)}",
    "&url=${data.coder_workspace.me.access_url}",
    "&token=$SESSION_TOKEN",
  ])
}
