# Runs ~/personalize, if the user has such a script.

resource "coder_script" "personalize" {
  agent_id     = coder_agent.main.id
  display_name = "Personalize"
  icon         = "/icon/personalize.svg"
  run_on_start = true
  script       = <<-EOT
    #!/bin/sh
    set -e
    if [ -x "$HOME/personalize" ]; then
      "$HOME/personalize"
    elif [ -f "$HOME/personalize" ]; then
      sh "$HOME/personalize"
    else
      echo "Create the script ~/personalize to run your own commands at each start."
    fi
  EOT
}
