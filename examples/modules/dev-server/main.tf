# An app for a web server that users start on a fixed port.

variable "dev_server_name" {
  type        = string
  default     = "Development server"
  description = "Name of the app."
}

variable "dev_server_port" {
  type        = number
  default     = 3000
  description = "Port that the web server listens on."
}

variable "dev_server_subdomain" {
  type        = bool
  default     = false
  description = "Whether the app has a subdomain of its own. It needs a wildcard access URL."
}

resource "coder_app" "dev_server" {
  agent_id     = coder_agent.main.id
  slug         = "dev-server"
  display_name = var.dev_server_name
  icon         = "/icon/globe.svg"
  url          = "http://localhost:${var.dev_server_port}"
  subdomain    = var.dev_server_subdomain
}
