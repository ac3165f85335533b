package queue

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// SaveModuleFiles keeps what a daemon uploaded about a job it holds, so that
// the job's handler finds it by SHA-256 under the job's initiator.
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

// ModuleFiles gives the prepared modules that a template version of the
// worker's organization has under that file id.
func (s *Service) ModuleFiles(ctx context.Context, w Worker, fileID uuid.UUID) ([]byte, error) {
	return s.Store.QueueModuleFiles(ctx, fileID, w.OrganizationID)
}
