package server

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/echo"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/provisionapi"
	"github.com/seed-2a7f8fe7/coder/internal/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/share"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
	"github.com/seed-2a7f8fe7/coder/internal/terraform"
)

// Engines makes the engines of those names for provisioners on this machine.
func Engines(names []string, c terraform.Config) (map[string]provisioner.Engine, error) {
	engines := map[string]provisioner.Engine{}
	for _, n := range names {
		switch n {
		case "terraform":
			e, err := terraform.New(c)
			if err != nil {
				return nil, fmt.Errorf("set up Terraform: %w", err)
			}
			engines[n] = e
		case "echo":
			engines[n] = echo.New()
		default:
			return nil, coder.Errorf(coder.CodeInvalid, "%q is no provisioner type: use terraform or echo", n)
		}
	}
	return engines, nil
}

// daemons makes the built-in provisioners: ordinary ones, whose connection is
// a pipe. They serve the organizations with a weight. (PRV-01)
func (s *Server) daemons(api *provisionapi.API, shares *share.Service) ([]lifecycle.Named, error) {
	if s.c.ProvisionerDaemons == 0 {
		return nil, nil
	}
	types := s.c.ProvisionerEngines
	if len(types) == 0 {
		types = []string{"terraform"}
	}
	engines, err := Engines(types, terraform.Config{
		CacheDir: filepath.Join(s.c.CacheDir, "provisioner"), Log: s.log.With(telemetry.NameKey, "terraform"), Grace: s.c.ForceCancelInterval,
	})
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "server"
	}
	var named []lifecycle.Named
	for i := range s.c.ProvisionerDaemons {
		name := fmt.Sprintf("%s-%d", host, i)
		info := provisionapi.BuiltIn(uuid.Nil, name, s.c.Version, slices.Clone(types))
		info.Seat = shares.Seat(info.Daemon())
		d, err := provisionerd.New(provisionerd.Config{
			Name: name, Engines: engines, Log: s.log.With(telemetry.NameKey, "provisionerd"),
			Registerer: s.registry, ForceCancelInterval: s.c.ForceCancelInterval,
			Dial: provisionerd.Pipe(func(ctx context.Context, c net.Conn) error { return api.ServeConn(ctx, c, info) }),
		})
		if err != nil {
			return nil, err
		}
		named = append(named, lifecycle.Named{Name: "provisioner " + name, Service: d})
	}
	return named, nil
}
