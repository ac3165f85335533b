import { Alert, Text } from '@mantine/core';
import { IconAlertCircle } from '@tabler/icons-react';
import { ApiError } from '../api/client';

/** What went wrong, in the server's words; nothing when error is null. */
export function Refusal({ error, title }: { error: Error | null; title?: string }) {
  if (!error) return null;
  const fields = error instanceof ApiError ? Object.entries(error.fields) : [];
  return (
    <Alert color="red" variant="light" icon={<IconAlertCircle />} title={title ?? error.message} role="alert">
      {title && <Text size="sm">{error.message}</Text>}
      {error instanceof ApiError && error.detail !== '' && <Text size="sm">{error.detail}</Text>}
      {fields.map(([field, detail]) => (
        <Text size="sm" key={field}>
          <b>{field}</b>: {detail}
        </Text>
      ))}
    </Alert>
  );
}

/** The message for one field of a form, or undefined. */
export function fieldError(error: Error | null, field: string): string | undefined {
  return error instanceof ApiError ? error.fields[field] : undefined;
}
