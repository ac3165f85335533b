import { Alert, Anchor, Button, CopyButton, Group, Stack, Text } from '@mantine/core';
import { IconAlertCircle, IconCheck, IconCopy } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Schema, sendRequest } from '../api/client';
import { stripAnsi } from '../lib/ansi';
import { findLocation } from '../lib/failure';

interface Props {
  title: string;
  job: Schema<'ProvisionerJob'>;
  /** The path of the job's log in the API. */
  log: string;
  /** The template version that was built; absent when the user cannot read its source. */
  source?: { organization: string; template: string; version: string };
  /** Buttons, such as Retry. */
  actions?: ReactNode;
}

/** Explains a failed job: its error, the line of the template that failed, and what to do. */
export function FailedJob({ title, job, log, source, actions }: Props) {
  const { data: lines } = useQuery({
    queryKey: ['job', job.id, 'errors'],
    queryFn: async ({ signal }) => {
      const answer = await sendRequest('GET', log, { signal });
      const rows = (await answer.json()) as Schema<'ProvisionerJobLog'>[] | null;
      return (rows ?? []).filter((row) => row.log_level === 'error').map((row) => stripAnsi(row.output));
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  const errors = lines ?? [];
  const at = findLocation([...job.error.split('\n'), ...errors]);
  return (
    <Alert color="red" variant="light" icon={<IconAlertCircle />} title={title} role="alert" mb="md">
      <Stack gap="xs">
        <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {job.error}
        </Text>
        {at && (
          <Text size="sm">
            Failed at{' '}
            {source ? (
              <Anchor
                component={Link}
                inherit
                underline="always"
                to={`/templates/${source.organization}/${source.template}/versions/${source.version}?${new URLSearchParams({ tab: 'files', file: at.file, line: String(at.line) })}`}
              >
                {at.file}, line {at.line}
              </Anchor>
            ) : (
              `${at.file}, line ${at.line} of the template`
            )}
            .
          </Text>
        )}
        <Text size="sm">{adviceFor(job, source !== undefined)}</Text>
        <Group gap="xs">
          {actions}
          <CopyButton value={[job.error, ...errors].join('\n')}>
            {({ copied, copy }) => (
              <Button
                size="xs"
                variant="default"
                onClick={copy}
                leftSection={copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
              >
                {copied ? 'Copied' : 'Copy error'}
              </Button>
            )}
          </CopyButton>
        </Group>
      </Stack>
    </Alert>
  );
}

/** Returns what a user can do about a failed job. */
function adviceFor(job: Schema<'ProvisionerJob'>, editor: boolean): string {
  if (job.error_code === 'REQUIRED_TEMPLATE_VARIABLES')
    return editor
      ? 'Set the missing variables of the template, then retry.'
      : 'Ask a template admin to set the missing variables.';
  if (/quota/i.test(job.error)) return 'Stop or delete another workspace, or ask an admin for more quota, then retry.';
  if (job.type === 'template_version_import') return 'Fix the files of the version, then import them again.';
  return editor
    ? 'Retry if the cause is temporary. Otherwise fix the template, publish a new version and update the workspace.'
    : 'Retry if the cause is temporary. Otherwise send the error to a template admin.';
}
