package rds_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/rds"
)

func TestPasswordIsATokenOfTheConnection(t *testing.T) {
	for k, v := range map[string]string{
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "hush", "AWS_SESSION_TOKEN": "",
		"AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(k, v)
	}
	tokens, err := rds.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := pgx.ParseConfig("postgres://coder:old@db.example.com:5433/coder")
	if err != nil {
		t.Fatal(err)
	}
	if err := tokens.Password(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse("https://" + c.Password)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if u.Host != "db.example.com:5433" || q.Get("Action") != "connect" || q.Get("DBUser") != "coder" || q.Get("X-Amz-Expires") != "900" ||
		!strings.Contains(q.Get("X-Amz-Credential"), "/eu-central-1/rds-db/") || q.Get("X-Amz-Signature") == "" {
		t.Errorf("the token is %s", c.Password)
	}
	t.Setenv("AWS_REGION", "")
	if _, err := rds.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("without a region: %v", err)
	}
}
