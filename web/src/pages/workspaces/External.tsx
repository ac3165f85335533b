import { Alert, Button, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { api } from '../../api/client';
import { Snippet } from '../../parts/Copy';
import { complain } from '../../parts/confirm';
import type { Agent, Workspace } from './data';

/** How to start an agent that runs on a machine of one's own. Its token is asked for when somebody wants to see it. */
export function External({ w, agent }: { w: Workspace; agent: Agent }) {
  const ask = useMutation({
    mutationFn: () => api.get('/workspaces/{workspace}/external-agent/{agent}/credentials', { path: { workspace: w.id, agent: agent.name } }),
    onError: complain,
  });
  return (
    <Alert color="blue" title="This agent runs on a machine of your own" mx="md" mb="md">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">Run a command there to start it. Whoever has the command can be this agent.</Text>
        {ask.data ? (
          <Snippet label="On that machine" text={ask.data.command} />
        ) : (
          <Button size="xs" variant="default" loading={ask.isPending} onClick={() => ask.mutate()}>
            Show the command
          </Button>
        )}
      </Stack>
    </Alert>
  );
}
