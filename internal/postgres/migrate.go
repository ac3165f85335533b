package postgres

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib" // driver of goose
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations returns the SQL files of the schema, whose names begin with their
// number.
func Migrations() fs.FS { return migrations }

// SchemaVersion returns the newest schema version that this program knows.
func SchemaVersion() int64 {
	files, _ := fs.Glob(migrations, "migrations/*.sql") //nolint:errcheck // only bad patterns fail
	version, _ := goose.NumericComponent(files[len(files)-1])
	return version
}

// Migrate upgrades the schema under a session lock, so that of several servers one migrates and the others
// wait. There are no down migrations. A database of another program, or one that a newer version upgraded
// beyond compatibility, is rejected unchanged; see checkDatabase and checkVersion.
func Migrate(ctx context.Context, url string) error { return MigrateWith(ctx, Config{URL: url}) }

// MigrateWith is Migrate with the URL and Password of c.
func MigrateWith(ctx context.Context, c Config) error {
	err := c.migrate(ctx, lockWaits[0])
	for _, wait := range lockWaits[1:] {
		if !lacksLock(err) {
			return err
		}
		select { // meanwhile, the transactions of servers go on
		case <-time.After(rand.N(wait)):
		case <-ctx.Done():
			return err
		}
		err = c.migrate(ctx, wait)
	}
	if lacksLock(err) {
		return fmt.Errorf(
			"%w: a transaction, for example a backup, keeps a table locked that this migration changes;"+
				" wait until it ends (pg_stat_activity lists the transactions), then start the server again", err)
	}
	return err
}

// lockWaits has the time that each attempt to migrate waits for the lock of a table. Other queries of this table wait
// behind it, and a server that has locked the table may wait for another one that the migration has locked.
// PostgreSQL ends such a deadlock after a second, with an error on either side. The first attempts end before,
// also if a migration waits for several tables. The last ones are for long transactions; servers repeat transactions
// that fail because of a deadlock.
var lockWaits = append(slices.Repeat([]time.Duration{200 * time.Millisecond}, 60), 2*time.Second, 4*time.Second, 8*time.Second, 16*time.Second)

// lacksLock reports whether a migration failed because others hold a lock: lock_not_available or deadlock_detected.
func lacksLock(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "55P03" || pg.Code == "40P01")
}

// migrate applies the migrations that the database lacks. Those that run in a transaction wait for a lock at most for
// lockWait. The others build indexes beside writers, whose transactions they wait for without making any wait.
func (c Config) migrate(ctx context.Context, lockWait time.Duration) error {
	db, err := c.openSQL(0)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := checkDatabase(ctx, db); err != nil {
		return err
	}
	unlock, err := lockMigrations(ctx, db)
	if err != nil {
		return fmt.Errorf("wait for the server that migrates the database: %w", err)
	}
	defer unlock()
	beside, err := provider(db)
	if err != nil {
		return err
	}
	if newer, err := checkVersion(ctx, db, beside); newer || err != nil {
		return err
	}
	pending, err := beside.HasPending(ctx)
	if err != nil {
		return fmt.Errorf("read the version of the schema: %w", err)
	}
	if !pending {
		return nil
	}
	limited, err := c.openSQL(lockWait)
	if err != nil {
		return err
	}
	defer limited.Close()
	inTransaction, err := provider(limited)
	if err != nil {
		return err
	}
	if err := applyAll(ctx, inTransaction, beside); err != nil {
		if failed, ok := errors.AsType[*goose.PartialError](err); ok {
			return fmt.Errorf("migrate database to version %d: %w", failed.Failed.Source.Version, failed.Err)
		}
		return fmt.Errorf("migrate database: %w", err)
	}
	if _, err := db.ExecContext(ctx, "UPDATE schema_compatibility SET migrated_by = $1", codersdk.Version()); err != nil {
		return fmt.Errorf("migrate database: %w", err)
	}
	return nil
}

// applyAll applies each migration that the database lacks: with inTransaction those that run in a transaction, and the
// others with beside.
func applyAll(ctx context.Context, inTransaction, beside *goose.Provider) error {
	for {
		p := inTransaction
		if outside, err := nextOutsideTransaction(ctx, beside); err != nil {
			return err
		} else if outside {
			p = beside
		}
		if _, err := p.UpByOne(ctx); errors.Is(err, goose.ErrNoNextVersion) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// lockMigrations waits, up to five minutes, for the lock under which one server of the database migrates it. The
// versions that run beside this one use the same lock.
func lockMigrations(ctx context.Context, db *sql.DB) (unlock func(), err error) {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if err := locker.SessionLock(ctx, conn); err != nil {
		conn.Close()
		return nil, err
	}
	return func() {
		locker.SessionUnlock(context.WithoutCancel(ctx), conn) //nolint:errcheck // the end of the connection unlocks too
		conn.Close()
	}, nil
}

// provider returns what migrates db. Callers hold the lock of lockMigrations.
func provider(db *sql.DB) (*goose.Provider, error) {
	dir, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectPostgres, db, dir)
}

// nextOutsideTransaction reports whether the next migration runs without a transaction.
func nextOutsideTransaction(ctx context.Context, p *goose.Provider) (bool, error) {
	version, err := p.GetDBVersion(ctx)
	if err != nil {
		return false, err
	}
	for _, source := range p.ListSources() {
		if source.Version > version {
			text, err := migrations.ReadFile("migrations/" + source.Path)
			return bytes.Contains(text, []byte("+goose NO TRANSACTION")), err
		}
	}
	return false, nil
}

// openSQL opens the database for goose. Its connections wait for a lock at most for lockWait; 0 is without a limit.
func (c Config) openSQL(lockWait time.Duration) (*sql.DB, error) {
	conf, err := pgx.ParseConfig(c.URL)
	if err != nil {
		return nil, errURL()
	}
	limit := func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, fmt.Sprintf("SET lock_timeout = %d", lockWait.Milliseconds()))
		return err
	}
	options := []stdlib.OptionOpenDB{stdlib.OptionAfterConnect(limit)}
	if c.Password != nil {
		options = append(options, stdlib.OptionBeforeConnect(c.Password))
	}
	return stdlib.OpenDB(*conf, options...), nil
}

// checkDatabase rejects a database whose encoding is not UTF-8, and one of the original product, which
// numbers migrations differently.
func checkDatabase(ctx context.Context, db *sql.DB) error {
	var encoding string
	var foreign bool
	err := db.QueryRowContext(ctx, `SELECT current_setting('server_encoding'),
		to_regclass('goose_db_version') IS NULL AND (to_regclass('gitsshkeys') IS NOT NULL OR to_regclass('provisioner_jobs') IS NOT NULL)
		AND EXISTS (SELECT FROM information_schema.columns WHERE table_name = 'schema_migrations' AND column_name = 'dirty')`).Scan(&encoding, &foreign)
	switch {
	case err != nil:
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	case encoding != "UTF8":
		return codersdk.Errorf(codersdk.CodeInvalid,
			"the database has the encoding %s, but UTF8 is required: create another one with CREATE DATABASE coder ENCODING 'UTF8' TEMPLATE template0", encoding)
	case foreign:
		return codersdk.Errorf(
			codersdk.CodeInvalid,
			"the database belongs to another product with the tables schema_migrations and provisioner_jobs; nothing was changed; use a separate database for this server",
		)
	}
	return nil
}

// checkVersion reports whether a newer version upgraded the schema. It returns an error if this version
// cannot use that schema: the table schema_compatibility has the oldest version that can.
func checkVersion(ctx context.Context, db *sql.DB, p *goose.Provider) (newer bool, err error) {
	known := p.ListSources()
	ours := known[len(known)-1].Version
	version, err := p.GetDBVersion(ctx)
	if err != nil {
		return false, fmt.Errorf("read the version of the schema: %w", err)
	}
	if version <= ours {
		return false, nil
	}
	oldest, by := version, "a newer version"
	var marked bool
	err = db.QueryRowContext(ctx, "SELECT to_regclass('schema_compatibility') IS NOT NULL").Scan(&marked)
	if err == nil && marked {
		err = db.QueryRowContext(ctx, "SELECT oldest_version, migrated_by FROM schema_compatibility").Scan(&oldest, &by)
	}
	if err != nil {
		return true, fmt.Errorf("read which versions the schema is compatible with: %w", err)
	}
	if oldest > ours {
		return true, codersdk.Errorf(
			codersdk.CodeConflict,
			"the database was upgraded by %s to schema version %d, and this is %s with schema version %d: start the newer server, or restore a backup from before the upgrade",
			by,
			version,
			codersdk.Version(),
			ours,
		)
	}
	return true, nil
}
