import { Alert, Button, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { api } from '../../api/client';
import { CopySnippet } from '../../components/CopyButton';
import { notifyError } from '../../components/confirm';
import type { Agent, Workspace } from './queries';

/** Instructions to start an external agent. Its token is requested only when the user reveals the command. */
export function ExternalAgent({ workspace, agent }: { workspace: Workspace; agent: Agent }) {
  const ask = useMutation({
    mutationFn: () =>
      api.get('/workspaces/{workspace}/external-agent/{agent}/credentials', {
        path: { workspace: workspace.id, agent: agent.name },
      }),
    onError: notifyError,
  });
  return (
    <Alert color="blue" title="External agent" mx="md" mb="md">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">
          Run a command on the external machine to start this agent. The command contains a secret token.
        </Text>
        {ask.data ? (
          <CopySnippet label="Run on the external machine" text={ask.data.command} />
        ) : (
          <Button size="xs" variant="default" loading={ask.isPending} onClick={() => ask.mutate()}>
            Show command
          </Button>
        )}
      </Stack>
    </Alert>
  );
}
