package clienttest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"
)

// A parseRule parses a version as a client does, and reports whether the version is
// at least the threshold.
type parseRule func(version, threshold string) (atLeast bool, err error)

// develSemver parses semantic versions with an optional v. A pre-release whose first
// identifier is devel passes every threshold. (VS Code)
func develSemver(version, threshold string) (bool, error) {
	v := "v" + strings.TrimPrefix(version, "v")
	if !semver.IsValid(v) {
		return false, fmt.Errorf("%q is no semantic version", version)
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(semver.Prerelease(v), "-"), ".")
	return first == "devel" || semver.Compare(v, "v"+threshold) >= 0, nil
}

// strictSemver requires a complete semantic version, whose numeric pre-release
// identifiers have no leading zeros. It compares major.minor.patch. (JetBrains)
func strictSemver(version, threshold string) (bool, error) {
	v := strings.TrimPrefix(version, "v")
	if !strict.MatchString(v) || !semver.IsValid("v"+v) {
		return false, fmt.Errorf("%q is not a strict semantic version", version)
	}
	return threeNumbers(version, threshold)
}

var strict = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// threeNumbers ignores v, pre-release and build parts and compares three numbers.
// (Mux, Desktop, envbuilder, envbox)
func threeNumbers(version, threshold string) (bool, error) {
	core, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), "+")
	core, _, _ = strings.Cut(core, "-")
	have, err := numbers(core)
	if err != nil {
		return false, err
	}
	want, err := numbers(threshold)
	if err != nil {
		return false, err
	}
	for i := range have {
		if have[i] != want[i] {
			return have[i] > want[i], nil
		}
	}
	return true, nil
}

func numbers(core string) (n [3]uint64, err error) {
	for i, part := range append(strings.Split(core, "."), "0", "0")[:3] {
		if n[i], err = strconv.ParseUint(part, 10, 32); err != nil {
			return n, fmt.Errorf("%q is not a version of three numbers", core)
		}
	}
	return n, nil
}

// plainSemver compares semantic versions with their pre-releases.
// (coder-logstream-kube)
func plainSemver(version, threshold string) (bool, error) {
	v := "v" + strings.TrimPrefix(version, "v")
	if !semver.IsValid(v) {
		return false, fmt.Errorf("%q is no semantic version", version)
	}
	return semver.Compare(v, "v"+threshold) >= 0, nil
}

// passes returns the row of a gate that the versions of the server and of the CLI
// must pass.
func passes(entry string, rule parseRule, threshold string) row {
	return gate(entry, func(s *session) { s.versionAgainst(rule, threshold, true) })
}

func gate(entry string, run func(*session)) row { return row{gateSection, []string{entry}, run} }

func (s *session) versionAgainst(rule parseRule, threshold string, want bool) {
	s.t.Helper()
	for where, version := range map[string]string{"command line": s.cliVersion(), "server": s.serverVersion()} {
		atLeast, err := rule(version, threshold)
		if err != nil || atLeast != want {
			s.t.Errorf("%s: version %s, at least %s: %v, %v", where, version, threshold, atLeast, err)
		}
	}
}

func (s *session) cliVersion() string {
	s.t.Helper()
	return textAt(s.json("version", "--output", "json"), "version")
}

func (s *session) serverVersion() string {
	s.t.Helper()
	return textAt(s.get("/api/v2/buildinfo", "Coder-Session-Token", "").want(200).json(), "version")
}

// oneVersion checks that the server, the CLI, the agent and the response header have
// the same version string.
func oneVersion(s *session) {
	version := s.serverVersion()
	if cli := s.cliVersion(); cli != version {
		s.t.Errorf("the command line is %q, the server %q", cli, version)
	}
	if header := s.get("/api/v2/buildinfo").header.Get("X-Coder-Build-Version"); header != version {
		s.t.Errorf("the header of answers has %q, the server is %q", header, version)
	}
	agent := s.get("/api/v2/workspaceagents/" + s.w.agent).want(200).json()
	if v := textAt(agent, "version"); v != version {
		s.t.Errorf("the agent is %q, the server %q", v, version)
	}
	daemons := s.get("/api/v2/organizations/" + s.w.organization + "/provisionerdaemons").want(200).json()
	checkFields(s.t, daemons, "[].version ="+version)
}
