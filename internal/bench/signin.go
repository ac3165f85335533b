package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/bench/process"
)

// office is the number of users that sign in from one address.
const office = 500

// signIn measures how long it takes until all users of an office have signed
// in, and the server's peak memory until then.
func signIn(ctx context.Context, s *server) ([]row, error) {
	orgs, err := s.c.UserOrganizations(ctx, "me")
	if err != nil {
		return nil, err
	}
	var create, login errgroup.Group
	create.SetLimit(8)
	for i := range office {
		create.Go(func() error {
			_, err := s.c.CreateUser(ctx, codersdk.CreateUserRequestWithOrgs{
				Email: email(i), Username: fmt.Sprintf("user%d", i), Password: password, OrganizationIDs: []uuid.UUID{orgs[0].ID},
			})
			return err
		})
	}
	if err := create.Wait(); err != nil {
		return nil, err
	}
	start := time.Now()
	for i := range office {
		login.Go(func() error {
			_, err := codersdk.New(s.c.URL).LoginWithPassword(ctx, codersdk.LoginWithPasswordRequest{Email: email(i), Password: password})
			return err
		})
	}
	if err := login.Wait(); err != nil {
		return nil, err
	}
	took := time.Since(start)
	peak, err := process.Memory(s.cmd.Process.Pid, "VmHWM:")
	return []row{
		atMost("signin_500_one_address", took.Seconds(), 10, "s"),
		atMost("signin_500_peak_memory", float64(peak)/1e6, 250, "MB"),
	}, err
}

func email(i int) string { return fmt.Sprintf("user%d@example.com", i) }
