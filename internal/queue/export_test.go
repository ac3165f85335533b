package queue

import "context"

// ReapOnce looks once for what the reaper looks for all the time.
func (s *Service) ReapOnce(ctx context.Context) error { return s.reapOnce(ctx) }
