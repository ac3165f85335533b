// Package rds signs in to Amazon RDS for PostgreSQL with tokens of AWS IAM. The
// token takes the place of a password. It is signed on this machine with the AWS
// credentials of the environment, is good for 15 minutes, and counts only at
// connecting: each new connection gets a fresh one.
package rds

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/rds/auth"
	"github.com/jackc/pgx/v5"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Tokens makes the tokens. It is safe for concurrent use.
type Tokens struct {
	region      string
	credentials aws.CredentialsProvider
}

// Load finds region and credentials as the AWS command line does: in AWS_*
// variables, in ~/.aws, or in the metadata of the machine, pod or task.
func Load(ctx context.Context) (*Tokens, error) {
	c, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("load the AWS configuration for --postgres-auth awsiamrds: %w", err)
	}
	if c.Region == "" {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "--postgres-auth awsiamrds needs the AWS region of the database: set AWS_REGION")
	}
	return &Tokens{region: c.Region, credentials: c.Credentials}, nil
}

// Password sets the password of a connection that is about to be made to a fresh
// token for its host, port and user.
func (t *Tokens) Password(ctx context.Context, c *pgx.ConnConfig) error {
	token, err := auth.BuildAuthToken(ctx, net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))), t.region, c.User, t.credentials)
	if err != nil {
		return fmt.Errorf("make a token of AWS IAM for the database user %s: %w", c.User, err)
	}
	c.Password = token
	return nil
}
