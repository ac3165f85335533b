package metrics

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics of the state of the deployment and of this server. Those with names of the project's own are
// what its alerts need.
var (
	buildInfo = describe("coderd_build_info", "1, with the version of the server as labels.", "revision", "version")
	userCount = describe("coderd_api_total_user_count", "Users by status.", "status")
	replicas  = describe("coderd_replicas",
		"Servers of the deployment: alive, or lost without a stop and not started again on their host.", "status")
	certificateEnd = describe("coderd_tls_certificate_end_timestamp_seconds",
		"End of the validity of a TLS certificate, in seconds since 1970: of the access URL, or of the server's listener.", "name", "source")
	diskFree = describe("coderd_disk_free_bytes", "Free bytes of the file system of a directory of the server.", "directory")
	diskSize = describe("coderd_disk_size_bytes", "Size of this file system in bytes.", "directory")
)

// stateDescriptions are the descriptions of this file.
func stateDescriptions() []*prometheus.Desc {
	return []*prometheus.Desc{buildInfo, userCount, replicas, certificateEnd, diskFree, diskSize}
}

// replicaSilent is how long a replica without a heartbeat counts as alive.
const replicaSilent = 30 * time.Second

// Certificate is a TLS certificate of the server or of a proxy before it.
type Certificate struct {
	Name   string // host name
	Source string // access_url or listener
	End    time.Time
}

// Disk is the file system of a directory.
type Disk struct {
	Directory  string  // cache or database
	Free, Size float64 // bytes
}

// state reads the number of users by status and of replicas.
func (s *Service) state(ctx context.Context) ([]prometheus.Metric, error) {
	users, err := s.Store.MetricUserCounts(ctx)
	if err != nil {
		return nil, err
	}
	servers, err := s.Store.MetricReplicas(ctx, s.Now().Add(-replicaSilent))
	if err != nil {
		return nil, err
	}
	_, revision, _ := strings.Cut(s.Version, "+")
	out := []prometheus.Metric{
		gauge(buildInfo, 1, revision, s.Version),
		gauge(replicas, float64(servers.Alive), "alive"), gauge(replicas, float64(servers.Lost), "lost"),
	}
	for _, u := range users {
		out = append(out, gauge(userCount, float64(u.Users), string(u.Status)))
	}
	return out, nil
}

// certificates reads when certificates end.
func (s *Service) certificates(ctx context.Context) ([]prometheus.Metric, error) {
	if s.Certificates == nil {
		return nil, nil
	}
	all, err := s.Certificates(ctx)
	if err != nil {
		return nil, err
	}
	var out []prometheus.Metric
	for _, c := range all {
		out = append(out, gauge(certificateEnd, float64(c.End.Unix()), c.Name, c.Source))
	}
	return out, nil
}

// disks reads the space of the server's directories.
func (s *Service) disks(context.Context) ([]prometheus.Metric, error) {
	if s.Disks == nil {
		return nil, nil
	}
	all, err := s.Disks()
	if err != nil {
		return nil, errors.Join(errors.New("read the free space"), err)
	}
	var out []prometheus.Metric
	for _, d := range all {
		out = append(out, gauge(diskFree, d.Free, d.Directory), gauge(diskSize, d.Size, d.Directory))
	}
	return out, nil
}
