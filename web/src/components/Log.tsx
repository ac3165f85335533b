import { Alert, Box, Group, Loader, Text, UnstyledButton } from '@mantine/core';
import { useWindowEvent } from '@mantine/hooks';
import { IconCheck, IconChevronRight, IconX } from '@tabler/icons-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { Schema } from '../api/client';
import { useLogLines } from '../api/stream';
import { stripAnsi } from '../lib/ansi';
import classes from './Log.module.css';
import { formatDuration } from './time';
import { formatNumber } from '../lib/text';

type Line = Schema<'ProvisionerJobLog'>;

interface Stage {
  name: string;
  lines: Line[];
  began: number;
  ended: number;
}

/** Groups the lines of a job log by stage, in order. */
export function groupByStage(lines: Line[]): Stage[] {
  const out: Stage[] = [];
  for (const line of lines) {
    const at = Date.parse(line.created_at);
    let stage = out.at(-1);
    if (stage?.name !== line.stage) {
      if (stage) stage.ended = at;
      stage = { name: line.stage, lines: [], began: at, ended: at };
      out.push(stage);
    }
    stage.ended = Math.max(stage.ended, at);
    if (line.output !== '') stage.lines.push(line);
  }
  return out;
}

/** The log of a job grouped by stage. It streams until the job ends. */
export function JobLog({ url, failed }: { url: string; failed?: boolean }) {
  const { rows, dropped, done } = useLogLines<Line>(url);
  const all = useMemo(() => groupByStage(rows), [rows]);
  const bottom = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  useWindowEvent('scroll', () => {
    following.current = window.innerHeight + window.scrollY >= document.body.scrollHeight - 80;
  });
  useEffect(() => {
    if (rows.length > 0 && !done && following.current) bottom.current?.scrollIntoView({ block: 'nearest' });
  }, [rows, done]);
  if (rows.length === 0) {
    return (
      <Text c="dimmed" size="sm" p="sm">
        {done ? 'No log output' : 'Waiting for log output…'}
      </Text>
    );
  }
  return (
    <Box role="log" aria-label="Log" aria-live="off">
      {dropped > 0 && <Alert color="yellow">The first {formatNumber(dropped)} lines are not shown.</Alert>}
      {all.map((stage, i) => (
        <StageLog
          key={`${i} ${stage.name}`}
          stage={stage}
          last={i === all.length - 1}
          done={done}
          failed={failed === true && i === all.length - 1}
        />
      ))}
      <div ref={bottom} />
    </Box>
  );
}

function StageLog({ stage, last, done, failed }: { stage: Stage; last: boolean; done: boolean; failed: boolean }) {
  const [open, setOpen] = useState(true);
  const running = last && !done;
  return (
    <section className={classes.stage}>
      <UnstyledButton className={classes.head} onClick={() => setOpen(!open)} aria-expanded={open}>
        <Group gap={8} wrap="nowrap">
          <IconChevronRight size={14} className={open ? classes.open : undefined} />
          {running ? (
            <Loader size={14} />
          ) : failed ? (
            <IconX size={14} color="var(--mantine-color-red-text)" />
          ) : (
            <IconCheck size={14} color="var(--mantine-color-green-text)" />
          )}
          <Text size="sm" fw={600} flex={1}>
            {stage.name}
          </Text>
          <Text size="xs" c="dimmed">
            {stage.ended > stage.began && formatDuration(stage.ended - stage.began)}
          </Text>
        </Group>
      </UnstyledButton>
      {open && stage.lines.length > 0 && (
        <div className={classes.lines}>
          {stage.lines.map((line) => (
            <div key={line.id} className={classes.line} data-level={line.log_level}>
              <time dateTime={line.created_at}>{new Date(line.created_at).toLocaleTimeString()}</time>
              <span>{stripAnsi(line.output)}</span>
            </div>
          ))}
        </div>
      )}
    </section>
  );
}

/** The log of an agent, streamed. Each line names its source when there are several. */
export function AgentLog({ agent }: { agent: Schema<'WorkspaceAgent'> }) {
  const { rows, dropped } = useLogLines<Schema<'WorkspaceAgentLog'>>(`/api/v2/workspaceagents/${agent.id}/logs`);
  const names = new Map((agent.log_sources ?? []).map((s) => [s.id, s.display_name]));
  if (rows.length === 0) {
    return (
      <Text c="dimmed" size="sm" p="sm">
        No log output yet
      </Text>
    );
  }
  return (
    <div role="log" aria-label={`Log of ${agent.name}`} className={classes.lines}>
      {dropped > 0 && <div className={classes.line}>The first {formatNumber(dropped)} lines are not shown.</div>}
      {rows.map((line) => (
        <div key={line.id} className={classes.line} data-level={line.level}>
          <time dateTime={line.created_at}>{new Date(line.created_at).toLocaleTimeString()}</time>
          <span>
            {names.size > 1 && <b>{names.get(line.source_id)} </b>}
            {stripAnsi(line.output)}
          </span>
        </div>
      ))}
    </div>
  );
}
