package user

import (
	"context"
	"fmt"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
)

func notificationsCommand(a *command.Run) *command.Command {
	do := func(done string, fn func(ctx context.Context, c *codersdk.Client, args []string) error) func(context.Context, []string) error {
		return func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			if err := fn(ctx, c, args); err != nil {
				return err
			}
			fmt.Fprintln(a.Stderr, done)
			return nil
		}
	}
	pause := func(paused bool) func(context.Context, *codersdk.Client, []string) error {
		return func(ctx context.Context, c *codersdk.Client, _ []string) error {
			return c.PutNotificationsSettings(ctx, codersdk.NotificationsSettings{NotifierPaused: paused})
		}
	}
	return &command.Command{
		Name: "notifications", Aliases: []string{"notification"},
		Short: "Manage notifications",
		Examples: []command.Example{
			{Text: "Pause all notifications, for example while the mail server is down", Line: "coder notifications pause"},
			{Text: "Check that notifications reach you", Line: "coder notifications test"},
			{Text: "Notify yourself at the end of a script", Line: `coder notifications custom "Tests passed" "All tests passed in 5 minutes."`},
		},
		Subs: []*command.Command{
			{Name: "pause", Short: "Pause all notifications; events wait until they are resumed", Run: do("Notifications are paused.", pause(true))},
			{Name: "resume", Short: "Resume all notifications", Run: do("Notifications are resumed.", pause(false))},
			{Name: "test", Short: "Send a test notification to yourself",
				Run: do("A test notification was sent.", func(ctx context.Context, c *codersdk.Client, _ []string) error { return c.PostTestNotification(ctx) })},
			{Name: "custom", Args: "<title> <message>", Min: 2, Max: 2, Short: "Send a notification with your own text to yourself",
				Run: do("The notification was sent.", func(ctx context.Context, c *codersdk.Client, args []string) error {
					return c.PostCustomNotification(ctx, codersdk.CustomNotificationRequest{
						Content: &codersdk.CustomNotificationContent{Title: args[0], Message: args[1]},
					})
				})},
		},
	}
}
