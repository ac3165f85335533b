# A button that opens the workspace in Cursor. The user needs the extension
# coder.coder-remote in Cursor.

variable "cursor_folder" {
  type        = string
  default     = ""
  description = "Folder to open. Empty means the home directory."
}

resource "coder_app" "cursor" {
  agent_id     = coder_agent.main.id
  slug         = "cursor"
  display_name = "Cursor"
  icon         = "/icon/cursor.svg"
  external     = true
  url = join("", [
    "cursor://coder.coder-remote/open",
    "?owner=${data.coder_workspace_owner.me.name}",
    "&workspace=${data.coder_workspace.me.name}",
    "&folder=${urlencode(var.cursor_folder)}",
    "&url=${data.coder_workspace.me.access_url}",
    "&token=$SESSION_TOKEN",
  ])
}
