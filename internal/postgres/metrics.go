package postgres

import (
	"context"
	"path"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// timings measures queries and transactions. (--prometheus-collect-db-metrics) Labels are names in the
// program: of queries, and of functions that open transactions.
type timings struct {
	queries      *prometheus.HistogramVec
	transactions *prometheus.HistogramVec
	executions   *prometheus.CounterVec
}

func newTimings(r prometheus.Registerer) *timings {
	buckets := []float64{0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 10, 30}
	t := &timings{
		queries: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "coderd_db_query_latencies_seconds", Help: "Seconds from sending a query to the end of its result, by the name of the query.", Buckets: buckets,
		}, []string{"query"}),
		transactions: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "coderd_db_tx_duration_seconds", Help: "Seconds that a transaction took, repetitions included, by the function that runs it.", Buckets: buckets,
		}, []string{"success", "tx_id"}),
		executions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "coderd_db_tx_executions_count", Help: "Transactions, by the number of retries after serialization failures.",
		}, []string{"success", "retries", "tx_id"}),
	}
	r.MustRegister(t.queries, t.transactions, t.executions)
	return t
}

// transaction records a transaction that started at the given time; caller is the calling frame.
func (t *timings) transaction(begin time.Time, caller string, attempts int, err error) {
	success := strconv.FormatBool(err == nil)
	t.transactions.WithLabelValues(success, caller).Observe(time.Since(begin).Seconds())
	t.executions.WithLabelValues(success, strconv.Itoa(attempts-1), caller).Inc()
}

// callerName returns the function that is skip frames above its caller, such as
// workspace.(*Service).Create.
func callerName(skip int) string {
	pc, _, _, ok := runtime.Caller(skip + 1)
	if !ok {
		return "unknown"
	}
	return path.Base(runtime.FuncForPC(pc).Name())
}

// queryName returns the name in the comment that sqlc puts before each query.
func queryName(sql string) string {
	rest, ok := strings.CutPrefix(sql, "-- name: ")
	if !ok {
		return "unnamed"
	}
	name, _, _ := strings.Cut(rest, " ")
	return name
}

// timed measures each query of a connection.
type timed struct {
	db sqlc.DBTX
	t  *timings
}

// start returns the function that ends the measurement; only its first call counts.
func (m timed) start(name string) func() {
	begin := time.Now()
	return sync.OnceFunc(func() { m.t.queries.WithLabelValues(name).Observe(time.Since(begin).Seconds()) })
}

func (m timed) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	defer m.start(queryName(sql))()
	return m.db.Exec(ctx, sql, args...)
}

func (m timed) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	end := m.start(queryName(sql))
	rows, err := m.db.Query(ctx, sql, args...)
	if err != nil {
		end()
		return rows, err
	}
	return timedRows{rows, end}, nil
}

func (m timed) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return timedRow{m.db.QueryRow(ctx, sql, args...), m.start(queryName(sql))}
}

func (m timed) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, src pgx.CopyFromSource) (int64, error) {
	defer m.start("CopyFrom " + table.Sanitize())()
	return m.db.CopyFrom(ctx, table, columns, src)
}

type timedRow struct {
	row pgx.Row
	end func()
}

func (r timedRow) Scan(dest ...any) error {
	defer r.end()
	return r.row.Scan(dest...)
}

type timedRows struct {
	pgx.Rows
	end func()
}

func (r timedRows) Close() {
	r.Rows.Close()
	r.end()
}

// poolCollector exports the statistics of a pool, which it reads from memory, under the names of
// database/sql.
type poolCollector struct {
	pool  *pgxpool.Pool
	stats []poolStat
}

type poolStat struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*pgxpool.Stat) float64
}

func newPoolCollector(pool *pgxpool.Pool) poolCollector {
	c := poolCollector{pool: pool}
	add := func(name, help string, kind prometheus.ValueType, value func(*pgxpool.Stat) float64) {
		labels := prometheus.Labels{"db_name": pool.Config().ConnConfig.Database}
		c.stats = append(c.stats, poolStat{prometheus.NewDesc("go_sql_"+name, help, nil, labels), kind, value})
	}
	g, n := prometheus.GaugeValue, prometheus.CounterValue
	add("max_open_connections", "Maximum number of connections to the database.", g, func(s *pgxpool.Stat) float64 { return float64(s.MaxConns()) })
	add("open_connections", "Connections to the database, in use and idle.", g, func(s *pgxpool.Stat) float64 { return float64(s.TotalConns()) })
	add("in_use_connections", "Connections in use.", g, func(s *pgxpool.Stat) float64 { return float64(s.AcquiredConns()) })
	add("idle_connections", "Idle connections.", g, func(s *pgxpool.Stat) float64 { return float64(s.IdleConns()) })
	add("wait_count_total", "Acquisitions that had to wait for a connection.", n, func(s *pgxpool.Stat) float64 { return float64(s.EmptyAcquireCount()) })
	add("wait_duration_seconds_total", "Seconds of waiting for a connection.", n, func(s *pgxpool.Stat) float64 { return s.EmptyAcquireWaitTime().Seconds() })
	add("max_idle_time_closed_total", "Connections closed because they were idle.", n, func(s *pgxpool.Stat) float64 { return float64(s.MaxIdleDestroyCount()) })
	add("max_lifetime_closed_total", "Connections closed because of their age.", n, func(s *pgxpool.Stat) float64 { return float64(s.MaxLifetimeDestroyCount()) })
	return c
}

// Describe implements prometheus.Collector.
func (c poolCollector) Describe(d chan<- *prometheus.Desc) {
	for _, s := range c.stats {
		d <- s.desc
	}
}

// Collect implements prometheus.Collector.
func (c poolCollector) Collect(m chan<- prometheus.Metric) {
	now := c.pool.Stat()
	for _, s := range c.stats {
		m <- prometheus.MustNewConstMetric(s.desc, s.kind, s.value(now))
	}
}
