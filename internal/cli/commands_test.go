package cli

import (
	"strings"
	"testing"
)

// commands runs command lines in their order. Each is followed by a part of what
// it writes; a line that begins with ! must fail. Words in quotes are one word.
func (h *house) commands(script string) {
	h.t.Helper()
	for row := range strings.Lines(script) {
		line, says, _ := strings.Cut(strings.TrimSpace(row), " => ")
		if line == "" {
			continue
		}
		line, fails := strings.CutPrefix(line, "! ")
		var args []string
		for i, part := range strings.Split(line, `"`) {
			if i%2 == 1 {
				args = append(args, part)
			} else {
				args = append(args, strings.Fields(part)...)
			}
		}
		out, errs, status := h.run(args...)
		if fails != (status != 0) || !strings.Contains(out+errs, says) {
			h.t.Errorf("coder %s: status %d, want %q in\n%s%s", line, status, says, out, errs)
		}
	}
}

// TestAccountCommands runs the commands that manage users, groups and tokens.
func TestAccountCommands(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.commands(`
		users create --username ann --email ann@example.com --password SomeLongPassw0rd! => Created user ann.
		! users create --username ann --email other@example.com --password SomeLongPassw0rd! => already exists
		users list => ann@example.com
		users list --output json => "email": "ann@example.com"
		users show ann => ann@example.com
		! users show nobody => Resource not found
		users edit-roles ann --roles auditor --yes => User ann has the roles [auditor].
		users suspend ann => suspended
		users activate ann => ann
		groups create crew --display-name Crew => Created group crew in coder.
		groups edit crew --add-users ann@example.com => Group crew has 1 member.
		groups list => Crew
		groups edit crew --rm-users ann@example.com => Group crew has 0 members.
		groups delete crew => Deleted group crew of organization coder.
		! groups delete crew => crew
		tokens create --name ci --lifetime 24h
		tokens list => coder:all
		tokens view ci => admin
		tokens remove ci => Expired token
		tokens create --name ci
		tokens remove --delete ci => Deleted token
		! tokens view ci => no token of yours has that name
		publickey => ssh-ed25519
		whoami => as admin.
		users delete ann => ann
	`)
}

// TestDeploymentCommands runs the commands that manage organizations,
// provisioners and the deployment.
func TestDeploymentCommands(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.Member(t, "ann")
	h.commands(`
		organizations create lab --yes => Created organization lab
		organizations list => lab
		organizations show lab => lab (
		organizations members add ann -O lab => Added ann to organization lab.
		organizations members list -O lab => organization-admin
		organizations members edit-roles ann organization-auditor -O lab => ann has the roles [organization-auditor] in organization lab.
		organizations roles show -O lab => Organization Auditor
		! organizations roles create --stdin -O lab => standard input is not the JSON of a role
		organizations settings show group-sync -O lab => auto_create_missing_groups
		! organizations edit lab --display-name Lab => use --yes
		organizations edit lab --display-name Lab --yes
		organizations members remove ann -O lab => Removed ann from organization lab.
		organizations delete lab --yes => Deleted organization lab.
		provisioner keys create farm --tag zone=eu => Created provisioner key farm in organization coder.
		provisioner keys list => {"zone":"eu"}
		provisioner keys rotate farm => Created a new key farm
		provisioner keys delete farm --yes => Deleted provisioner key farm.
		provisioner jobs list => No jobs found.
		prebuilds pause => Prebuilt workspaces are paused
		prebuilds resume => Prebuilt workspaces are resumed.
		notifications pause => Notifications are paused.
		notifications resume => Notifications are resumed.
		! notifications custom => custom
		features list => high_availability
		licenses list => No licenses found.
		licenses add --license any => no license is needed
		netcheck => "healthy"
	`)
}

// TestTemplateCommands runs the commands that manage a template, its versions
// and a workspace.
func TestTemplateCommands(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.template("plain", map[string]string{"readme.md": "Nothing."})
	h.commands(`
		templates list => plain
		templates edit plain --description "Nothing at all" --default-ttl 8h --yes => Changed template plain.
		templates versions list plain => Active
		templates presets list plain => This version has no presets.
		templates archive plain --yes => Archived the unused versions of plain.
		! templates versions promote --template plain --template-version none => none
		create dev --template plain --yes
		list => admin/dev
		list --output json => "name": "dev"
		show dev => Template plain
		favorite dev => dev
		unfavorite dev => dev
		schedule start dev 9:30AM Mon-Fri => dev starts at 9:30AM Mon-Fri (UTC).
		schedule show dev => 9:30AM
		schedule start dev manual => Disabled autostart of dev.
		schedule stop dev 8h => dev stops 8h after its next start.
		schedule show dev => 8h
		autoupdate dev always --yes => always
		autoupdate dev never --yes => never
		state pull dev
		logs dev
		sharing status dev
		! rename dev other --yes => does not allow renames
		! templates delete plain --yes => still has 1 workspace(s)
		stop dev --yes => Stopped workspace dev.
		delete dev --yes => dev
		list => No workspaces
		templates delete plain --yes => plain
	`)
}
