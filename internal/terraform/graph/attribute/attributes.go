// Package attribute has the arguments of the coder provider's resources and data sources
// that are read, in the JSON form of states and plans. Null becomes the zero value.
package attribute

// Agent has the arguments of a coder_agent.
type Agent struct {
	ID                string            `json:"id"`
	Token             string            `json:"token"`
	Auth              string            `json:"auth"`
	OS                string            `json:"os"`
	Arch              string            `json:"arch"`
	Dir               string            `json:"dir"`
	Env               map[string]string `json:"env"`
	StartupScript     string            `json:"startup_script"`
	StartupBehavior   string            `json:"startup_script_behavior"`
	ShutdownScript    string            `json:"shutdown_script"`
	ConnectionTimeout *int32            `json:"connection_timeout"`
	TroubleshootURL   string            `json:"troubleshooting_url"`
	MotdFile          string            `json:"motd_file"`
	Order             int64             `json:"order"`
	APIKeyScope       string            `json:"api_key_scope"`
	Metadata          []struct {
		Key         string `json:"key"`
		DisplayName string `json:"display_name"`
		Script      string `json:"script"`
		Interval    int64  `json:"interval"`
		Timeout     int64  `json:"timeout"`
		Order       int64  `json:"order"`
	} `json:"metadata"`
	DisplayApps []struct {
		VSCode         bool `json:"vscode"`
		VSCodeInsiders bool `json:"vscode_insiders"`
		WebTerminal    bool `json:"web_terminal"`
		SSHHelper      bool `json:"ssh_helper"`
		PortForwarding bool `json:"port_forwarding_helper"`
	} `json:"display_apps"`
	Monitoring []struct {
		Memory []struct {
			Enabled   bool  `json:"enabled"`
			Threshold int32 `json:"threshold"`
		} `json:"memory"`
		Volumes []struct {
			Path      string `json:"path"`
			Enabled   bool   `json:"enabled"`
			Threshold int32  `json:"threshold"`
		} `json:"volume"`
	} `json:"resources_monitoring"`
}

// App has the arguments of a coder_app.
type App struct {
	ID          string `json:"id"`
	Slug        string `json:"slug"`
	DisplayName string `json:"display_name"`
	Command     string `json:"command"`
	URL         string `json:"url"`
	Icon        string `json:"icon"`
	Subdomain   bool   `json:"subdomain"`
	Share       string `json:"share"`
	External    bool   `json:"external"`
	Hidden      bool   `json:"hidden"`
	Order       int64  `json:"order"`
	OpenIn      string `json:"open_in"`
	Group       string `json:"group"`
	Tooltip     string `json:"tooltip"`
	Healthcheck []struct {
		URL       string `json:"url"`
		Interval  int32  `json:"interval"`
		Threshold int32  `json:"threshold"`
	} `json:"healthcheck"`
}

// Script has the arguments of a coder_script.
type Script struct {
	DisplayName      string `json:"display_name"`
	Icon             string `json:"icon"`
	Script           string `json:"script"`
	Cron             string `json:"cron"`
	StartBlocksLogin bool   `json:"start_blocks_login"`
	RunOnStart       bool   `json:"run_on_start"`
	RunOnStop        bool   `json:"run_on_stop"`
	Timeout          int32  `json:"timeout"`
	LogPath          string `json:"log_path"`
}

// Env has the arguments of a coder_env.
type Env struct {
	Name          string `json:"name"`
	Value         string `json:"value"`
	MergeStrategy string `json:"merge_strategy"`
}

// Devcontainer has the arguments of a coder_devcontainer.
type Devcontainer struct {
	WorkspaceFolder string `json:"workspace_folder"`
	ConfigPath      string `json:"config_path"`
	SubagentID      string `json:"subagent_id"`
}

// Metadata has the arguments of a coder_metadata.
type Metadata struct {
	ResourceID string `json:"resource_id"`
	Hide       bool   `json:"hide"`
	Icon       string `json:"icon"`
	DailyCost  int32  `json:"daily_cost"`
	Items      []struct {
		Key       string  `json:"key"`
		Value     *string `json:"value"`
		Sensitive bool    `json:"sensitive"`
		IsNull    bool    `json:"is_null"`
	} `json:"item"`
}

// Parameter has the arguments of a coder_parameter.
type Parameter struct {
	Name        string  `json:"name"`
	DisplayName string  `json:"display_name"`
	Description string  `json:"description"`
	Type        string  `json:"type"`
	FormType    string  `json:"form_type"`
	Mutable     bool    `json:"mutable"`
	Default     *string `json:"default"`
	Icon        string  `json:"icon"`
	Optional    bool    `json:"optional"`
	Order       int32   `json:"order"`
	Ephemeral   bool    `json:"ephemeral"`
	Options     []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Value       string `json:"value"`
		Icon        string `json:"icon"`
	} `json:"option"`
	Validation []struct {
		Min         *int32 `json:"min"`
		MinDisabled bool   `json:"min_disabled"`
		Max         *int32 `json:"max"`
		MaxDisabled bool   `json:"max_disabled"`
		Monotonic   string `json:"monotonic"`
		Regex       string `json:"regex"`
		Error       string `json:"error"`
	} `json:"validation"`
}

// Preset has the arguments of a coder_workspace_preset.
type Preset struct {
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Icon        string            `json:"icon"`
	Default     bool              `json:"default"`
	Parameters  map[string]string `json:"parameters"`
	Prebuilds   []struct {
		Instances        int32 `json:"instances"`
		ExpirationPolicy []struct {
			TTL int32 `json:"ttl"`
		} `json:"expiration_policy"`
		Scheduling []struct {
			Timezone string `json:"timezone"`
			Schedule []struct {
				Cron      string `json:"cron"`
				Instances int32  `json:"instances"`
			} `json:"schedule"`
		} `json:"scheduling"`
	} `json:"prebuilds"`
}

// ExternalAuth has the arguments of a coder_external_auth.
type ExternalAuth struct {
	ID       string `json:"id"`
	Optional bool   `json:"optional"`
}

// AITask has the arguments of a coder_ai_task.
type AITask struct {
	ID         string `json:"id"`
	AppID      string `json:"app_id"`
	SidebarApp []struct {
		ID string `json:"id"`
	} `json:"sidebar_app"`
}
