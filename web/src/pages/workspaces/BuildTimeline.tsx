import { Button, Group, Paper, Stack, Text, Title, Tooltip, UnstyledButton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client';
import { formatDuration } from '../../components/time';
import classes from './BuildTimeline.module.css';
import { type Phase, type Step, getPhases, durationTicks } from './timeline';

interface Range {
  from: number;
  to: number;
}

/** The build timeline: the phases of a build and their steps on a time axis. A phase can be zoomed. */
export function BuildTimeline({ build }: { build: string }) {
  const { data } = useQuery({
    queryKey: ['build', build, 'timings'],
    queryFn: () => api.get('/workspacebuilds/{workspacebuild}/timings', { path: { workspacebuild: build } }),
  });
  const [zoomed, setZoomed] = useState<string>();
  const phases = data ? getPhases(data) : [];
  if (phases.length === 0) return null;
  const shown = phases.filter((phase) => !zoomed || phase.stage === zoomed);
  const range = {
    from: Math.min(...shown.map((phase) => phase.from)),
    to: Math.max(...shown.map((phase) => phase.to)),
  };
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h3">
          Build timeline
        </Title>
        {zoomed && (
          <Button size="compact-xs" variant="default" onClick={() => setZoomed(undefined)}>
            Show all phases
          </Button>
        )}
      </Group>
      <div className={classes.timeline}>
        <Axis range={range} />
        <Stack gap="xs" component="ul" className={classes.list}>
          {shown.map((phase) => (
            <li key={phase.stage}>
              <Tooltip label={zoomed ? 'Show all phases' : `Zoom to ${phase.name}`}>
                <UnstyledButton
                  className={classes.row}
                  aria-pressed={zoomed === phase.stage}
                  onClick={() => setZoomed(zoomed ? undefined : phase.stage)}
                >
                  <Label step={phase} strong />
                  <Bar step={phase} range={range} strong />
                </UnstyledButton>
              </Tooltip>
              <Steps phase={phase} range={range} />
            </li>
          ))}
        </Stack>
      </div>
    </Paper>
  );
}

/** The time axis, from the beginning of the range. */
function Axis({ range }: { range: Range }) {
  const length = Math.max(1, range.to - range.from);
  return (
    <div className={classes.row} aria-hidden="true">
      <span />
      <div className={classes.axis}>
        {/* A label in the last tenth would be cut off. */}
        {durationTicks(0.9 * length).map((tick) => (
          <span key={tick} className={classes.tick} style={{ insetInlineStart: `${(tick / length) * 100}%` }}>
            {tick === 0 ? '0' : formatDuration(tick)}
          </span>
        ))}
      </div>
    </div>
  );
}

/** The steps of a phase, unless the phase is its only step. */
function Steps({ phase, range }: { phase: Phase; range: Range }) {
  if (phase.steps.length === 1 && phase.steps[0]?.name === phase.stage) return null;
  return (
    <ul className={classes.list}>
      {phase.steps.map((step, i) => (
        <li key={`${i} ${step.name}`} className={classes.row}>
          <Label step={step} />
          <Bar step={step} range={range} />
        </li>
      ))}
    </ul>
  );
}

function Label({ step, strong }: { step: Step; strong?: boolean }) {
  return (
    <span className={classes.label}>
      <Text size="xs" fw={strong ? 600 : undefined} ps={strong ? 0 : 'xs'} truncate title={step.name} span>
        {step.name}
      </Text>
      <Text size="xs" c="dimmed" span>
        {formatDuration(step.to - step.from)}
      </Text>
    </span>
  );
}

function Bar({ step, range, strong }: { step: Step; range: Range; strong?: boolean }) {
  const length = Math.max(1, range.to - range.from);
  const percent = (milliseconds: number) => `${(milliseconds / length) * 100}%`;
  return (
    <span className={classes.lane} aria-hidden="true">
      <span
        className={strong ? classes.phase : classes.step}
        style={{ insetInlineStart: percent(step.from - range.from), width: percent(step.to - step.from) }}
      />
    </span>
  );
}
