// Package license is the commands licenses and features. No feature needs a license: the
// commands exist for scripts that add one.
package license

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

const (
	// maxLicenseFile bounds the part of a license file that is read, in bytes.
	maxLicenseFile = 64 << 10
	// everythingIncluded is the note that the license commands print.
	everythingIncluded = "All features are included; no license is needed."
)

// Command returns the command licenses.
func Command(a *command.Run) *command.Command {
	return &command.Command{
		Name: "licenses", Aliases: []string{"license"},
		Short: "Add, list and delete licenses (no feature needs one)",
		Long:  everythingIncluded + " Licenses are accepted for compatibility with tools that manage them, and have no effect.",
		Subs:  []*command.Command{addcommand(a), listcommand(a), deletecommand(a)},
	}
}

func addcommand(a *command.Run) *command.Command {
	var file, text string
	var debug bool
	return &command.Command{
		Name: "add", Args: "[-f file | -l license]", Max: 0,
		Short: "Add a license",
		Long:  everythingIncluded,
		Options: []*option.Option{
			option.String(&file, "file", "License file; - reads standard input").Short("f"),
			option.String(&text, "license", "License text").Short("l"),
			option.Bool(&debug, "debug", "Print the claims of the license"),
		},
		Run: func(ctx context.Context, _ []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			if text, err = licenseText(a, file, text); err != nil {
				return err
			}
			l, err := c.AddLicense(ctx, codersdk.AddLicenseRequest{License: text})
			if err != nil {
				return err
			}
			if debug {
				if err := command.WriteJSON(a.Stdout, l.Claims); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintf(a.Stderr, "Added license %d. %s\n", l.ID, everythingIncluded)
			return err
		},
	}
}

// licenseText returns the license from the flags, or prompts for it.
func licenseText(a *command.Run, file, text string) (string, error) {
	switch {
	case file != "" && text != "":
		return "", codersdk.Errorf(codersdk.CodeInvalid, "--file and --license are mutually exclusive; use one of them")
	case text != "":
		return text, nil
	case file == "":
		return a.Ask("License:", "", "use --file or --license", func(s string) error {
			if strings.TrimSpace(s) == "" {
				return command.Failure("the license is empty")
			}
			return nil
		})
	}
	in := a.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", fmt.Errorf("--file: %w", err)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxLicenseFile+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("--file %s: %w", file, err)
	case len(b) > maxLicenseFile:
		return "", command.Failure("--file %s: the file is larger than the limit of %d bytes", file, maxLicenseFile)
	case len(bytes.TrimSpace(b)) == 0:
		return "", command.Failure("--file %s: the file is empty", file)
	}
	return string(b), nil
}

// licenseClaims are the claims of a license that the list shows.
type licenseClaims struct {
	Expires  json.Number                `json:"license_expires"`
	Trial    bool                       `json:"trial"`
	Features map[string]json.RawMessage `json:"features"`
}

// claimsOf decodes the shown claims of a license. Claims of unexpected types
// stay empty.
func claimsOf(l codersdk.License) (c licenseClaims) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(l.Claims, &fields) != nil {
		return c
	}
	for name, into := range map[string]any{"license_expires": &c.Expires, "trial": &c.Trial, "features": &c.Features} {
		_ = json.Unmarshal(fields[name], into) // claims of unexpected types are not shown
	}
	return c
}

func listcommand(a *command.Run) *command.Command {
	l := &command.Listing[codersdk.License]{NoMatch: "No licenses found. " + everythingIncluded, All: []command.Column[codersdk.License]{
		{Name: "id", Show: func(l codersdk.License) string { return strconv.Itoa(int(l.ID)) }},
		{Name: "uuid", Show: func(l codersdk.License) string { return l.UUID.String() }},
		{Name: "uploaded at", Show: func(l codersdk.License) string { return command.Date(l.UploadedAt) }},
		{Name: "features", Show: func(l codersdk.License) string {
			features := claimsOf(l).Features
			var text []string
			for _, name := range slices.Sorted(maps.Keys(features)) {
				text = append(text, name+"="+string(features[name]))
			}
			return strings.Join(text, " ")
		}},
		{Name: "expires at", Show: func(l codersdk.License) string {
			seconds, err := claimsOf(l).Expires.Int64()
			if err != nil || time.Unix(seconds, 0).UTC().Year() >= 9999 {
				return "never"
			}
			return command.Date(time.Unix(seconds, 0))
		}},
		{Name: "trial", Show: func(l codersdk.License) string { return command.YesNo(claimsOf(l).Trial) }},
	}}
	return &command.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short:   "List the licenses",
		Long:    everythingIncluded,
		Options: []*option.Option{l.ColumnOption("ID,UUID,Expires At,Uploaded At,Features"), l.FormatOption()},
		Run: func(ctx context.Context, _ []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			rows, err := c.Licenses(ctx)
			if err != nil {
				return err
			}
			return l.Write(a, rows)
		},
	}
}

func deletecommand(a *command.Run) *command.Command {
	return &command.Command{
		Name: "delete", Aliases: []string{"del", "rm"}, Args: "<id>", Min: 1, Max: 1,
		Short: "Delete a license",
		Run: func(ctx context.Context, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 32)
			if err != nil {
				return command.Failure("%q is not a license ID; 'coder licenses list' shows the IDs", args[0])
			}
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			if err := c.DeleteLicense(ctx, int32(id)); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stderr, "Deleted license %d.\n", id)
			return err
		},
	}
}
