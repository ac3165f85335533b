import { Alert, Text } from '@mantine/core';
import { IconAlertCircle } from '@tabler/icons-react';
import { ApiError } from '../api/client';
import { capitalize } from '../lib/text';

/** The fields whose error a form displays itself, by error. */
const shownFields = new WeakMap<Error, Set<string>>();

const isShown = (error: Error, field: string): boolean => shownFields.get(error)?.has(field) ?? false;

/** Displays an error as the server reported it. Renders nothing when error is null. */
export function ErrorAlert({ error, title }: { error: Error | null; title?: string }) {
  if (!error) return null;
  const fields =
    error instanceof ApiError ? Object.entries(error.fields).filter(([field]) => !isShown(error, field)) : [];
  return (
    <Alert color="red" variant="light" icon={<IconAlertCircle />} title={title ?? error.message} role="alert">
      {title && <Text size="sm">{error.message}</Text>}
      {error instanceof ApiError && error.detail !== '' && <Text size="sm">{error.detail}</Text>}
      {fields.map(([field, detail]) => (
        <Text size="sm" key={field}>
          <b>{capitalize(field.replaceAll(/[_.]/g, ' '))}</b>: {detail}
        </Text>
      ))}
    </Alert>
  );
}

/** Returns the validation message of one form field, or undefined. The field displays it, so the alert does not. */
export function getFieldError(error: Error | null, field: string): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  shownFields.set(error, (shownFields.get(error) ?? new Set()).add(field));
  return error.fields[field];
}
