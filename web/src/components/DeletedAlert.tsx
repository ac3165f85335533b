import { Box } from '@mantine/core';
import { ApiError } from '../api/client';
import { ErrorAlert } from './ErrorAlert';

/** Explains that the resource of a page can no longer be read. The page keeps its unsaved input. */
export function DeletedAlert({ error, what }: { error: Error | null; what: string }) {
  if (!error) return null;
  const gone = error instanceof ApiError && (error.status === 404 || error.status === 403);
  return (
    <Box mb="md">
      <ErrorAlert
        error={error}
        title={
          gone
            ? `${what} was deleted or you lost access to it. Unsaved changes are kept on this page but cannot be saved.`
            : undefined
        }
      />
    </Box>
  );
}
