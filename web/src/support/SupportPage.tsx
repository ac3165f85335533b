import { Paper, Title } from '@mantine/core';
import CreateBundle from './CreateBundle';

/** Support bundles of the deployment and of workspaces. */
export function SupportPage() {
  return (
    <Paper withBorder p="md" maw={720}>
      <Title order={2} mb="xs">
        Support bundle
      </Title>
      <CreateBundle />
    </Paper>
  );
}
