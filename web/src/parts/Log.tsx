import { Alert, Box, Group, Loader, Text, UnstyledButton } from '@mantine/core';
import { IconCheck, IconChevronRight, IconX } from '@tabler/icons-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { Schema } from '../api/client';
import { useLines } from '../api/stream';
import { plain } from './ansi';
import classes from './Log.module.css';
import { duration } from './time';

type Line = Schema<'ProvisionerJobLog'>;

interface Stage {
  name: string;
  lines: Line[];
  began: number;
  ended: number;
}

/** Puts the lines of a job under its stages, in order. */
export function stages(lines: Line[]): Stage[] {
  const out: Stage[] = [];
  for (const l of lines) {
    const at = Date.parse(l.created_at);
    let stage = out.at(-1);
    if (stage?.name !== l.stage) {
      if (stage) stage.ended = at;
      stage = { name: l.stage, lines: [], began: at, ended: at };
      out.push(stage);
    }
    stage.ended = Math.max(stage.ended, at);
    if (l.output !== '') stage.lines.push(l);
  }
  return out;
}

/** The log of a job by its stages, live until the job is over. */
export function JobLog({ url, failed }: { url: string; failed?: boolean }) {
  const { rows, dropped, done } = useLines<Line>(url);
  const all = useMemo(() => stages(rows), [rows]);
  const end = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  useEffect(() => {
    const seen = () => {
      follows.current = window.innerHeight + window.scrollY >= document.body.scrollHeight - 80;
    };
    window.addEventListener('scroll', seen, { passive: true });
    return () => window.removeEventListener('scroll', seen);
  }, []);
  useEffect(() => {
    if (rows.length > 0 && !done && follows.current) end.current?.scrollIntoView({ block: 'nearest' });
  }, [rows, done]);
  if (rows.length === 0) {
    return (
      <Text c="dimmed" size="sm" p="sm">
        {done ? 'There is no log.' : 'Waiting for the first line …'}
      </Text>
    );
  }
  return (
    <Box role="log" aria-label="Log" aria-live="off">
      {dropped > 0 && <Alert color="yellow">The first {dropped.toLocaleString()} lines are left out here.</Alert>}
      {all.map((s, i) => (
        <StageLog key={`${i} ${s.name}`} stage={s} last={i === all.length - 1} done={done} failed={failed === true && i === all.length - 1} />
      ))}
      <div ref={end} />
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
          {running ? <Loader size={14} /> : failed ? <IconX size={14} color="var(--mantine-color-red-text)" /> : <IconCheck size={14} color="var(--mantine-color-green-text)" />}
          <Text size="sm" fw={600} flex={1}>
            {stage.name}
          </Text>
          <Text size="xs" c="dimmed">
            {stage.ended > stage.began && duration(stage.ended - stage.began)}
          </Text>
        </Group>
      </UnstyledButton>
      {open && stage.lines.length > 0 && (
        <div className={classes.lines}>
          {stage.lines.map((l) => (
            <div key={l.id} className={classes.line} data-level={l.log_level}>
              <time dateTime={l.created_at}>{new Date(l.created_at).toLocaleTimeString()}</time>
              <span>{plain(l.output)}</span>
            </div>
          ))}
        </div>
      )}
    </section>
  );
}

/** The log of an agent, live. Each line says what wrote it. */
export function AgentLog({ agent }: { agent: Schema<'WorkspaceAgent'> }) {
  const { rows, dropped } = useLines<Schema<'WorkspaceAgentLog'>>(`/api/v2/workspaceagents/${agent.id}/logs`);
  const names = new Map((agent.log_sources ?? []).map((s) => [s.id, s.display_name]));
  if (rows.length === 0) {
    return (
      <Text c="dimmed" size="sm" p="sm">
        Nothing was logged yet.
      </Text>
    );
  }
  return (
    <div role="log" aria-label={`Log of ${agent.name}`} className={classes.lines}>
      {dropped > 0 && <div className={classes.line}>The first {dropped.toLocaleString()} lines are left out here.</div>}
      {rows.map((l) => (
        <div key={l.id} className={classes.line} data-level={l.level}>
          <time dateTime={l.created_at}>{new Date(l.created_at).toLocaleTimeString()}</time>
          <span>
            {names.size > 1 && <b>{names.get(l.source_id)} </b>}
            {plain(l.output)}
          </span>
        </div>
      ))}
    </div>
  );
}
