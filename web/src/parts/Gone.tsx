import { Box } from '@mantine/core';
import { ApiError } from '../api/client';
import { Refusal } from './Refusal';

/** Says why a page cannot be read any more, while it stays, with what was typed into it. */
export function Gone({ error, what }: { error: Error | null; what: string }) {
  if (!error) return null;
  const gone = error instanceof ApiError && (error.status === 404 || error.status === 403);
  return (
    <Box mb="md">
      <Refusal error={error} title={gone ? `${what} is gone, or you may see it no more. What you typed is still here, but cannot be saved.` : undefined} />
    </Box>
  );
}
