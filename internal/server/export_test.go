package server

import "github.com/prometheus/client_golang/prometheus"

// Registry gives tests what the server registers its metrics with.
func (s *Server) Registry() *prometheus.Registry { return s.registry }
