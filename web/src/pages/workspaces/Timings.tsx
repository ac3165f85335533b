import { Paper, Stack, Text, Title, Tooltip } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client';
import { duration } from '../../parts/time';
import classes from './Timings.module.css';

interface Bar {
  name: string;
  stage: string;
  from: number;
  to: number;
}

/** How long each part of a build took, as bars on one scale of time. */
export function Timings({ build }: { build: string }) {
  const { data } = useQuery({
    queryKey: ['build', build, 'timings'],
    queryFn: () => api.get('/workspacebuilds/{workspacebuild}/timings', { path: { workspacebuild: build } }),
  });
  if (!data) return null;
  const bars: Bar[] = [
    ...data.provisioner_timings.map((t) => ({ name: t.resource || t.action, stage: t.stage, from: Date.parse(t.started_at), to: Date.parse(t.ended_at) })),
    ...data.agent_connection_timings.map((t) => ({ name: `${t.workspace_agent_name} connects`, stage: t.stage, from: Date.parse(t.started_at), to: Date.parse(t.ended_at) })),
    ...data.agent_script_timings.map((t) => ({ name: t.display_name, stage: t.stage, from: Date.parse(t.started_at), to: Date.parse(t.ended_at) })),
  ].sort((a, b) => a.from - b.from);
  if (bars.length === 0) return null;
  const begin = Math.min(...bars.map((b) => b.from));
  const whole = Math.max(1, Math.max(...bars.map((b) => b.to)) - begin);
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h3" mb="xs">
        What took how long
      </Title>
      <Stack gap={4} component="ul" className={classes.list}>
        {bars.map((b, i) => (
          <li key={`${i} ${b.name}`}>
            <div className={classes.label}>
              <Text size="xs" truncate>
                {b.stage}: {b.name}
              </Text>
              <Text size="xs" c="dimmed">
                {duration(b.to - b.from)}
              </Text>
            </div>
            <Tooltip label={`${b.stage}: ${b.name}, ${duration(b.to - b.from)}`}>
              <svg className={classes.bar} viewBox="0 0 1000 6" preserveAspectRatio="none" aria-hidden="true">
                <rect x={((b.from - begin) / whole) * 1000} width={Math.max(4, ((b.to - b.from) / whole) * 1000)} height={6} rx={2} />
              </svg>
            </Tooltip>
          </li>
        ))}
      </Stack>
    </Paper>
  );
}
