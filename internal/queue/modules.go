package queue

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// SaveModuleFiles stores the module files of a job that the worker holds. The job's handler
// finds them by SHA-256 under the job's initiator.
func (s *Service) SaveModuleFiles(ctx context.Context, w Worker, jobID uuid.UUID, fence int64, data []byte) error {
	sum := sha256.Sum256(data)
	return s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		row, _, err := s.held(ctx, q, w, jobID.String(), fence)
		if err != nil {
			return err
		}
		_, err = q.FileInsert(ctx, sqlc.FileInsertParams{ID: uuid.New(), Hash: fmt.Sprintf("%x", sum), CreatedBy: row.InitiatorID, Data: data, Now: row.UpdatedAt})
		return err
	})
}

// ModuleFiles returns the module files with that ID, if a template version of the worker's
// organization uses them.
func (s *Service) ModuleFiles(ctx context.Context, w Worker, fileID uuid.UUID) ([]byte, error) {
	return s.Store.QueueModuleFiles(ctx, fileID, w.OrganizationID)
}
