import '@mantine/core/styles/Chip.css';
import { Alert, Anchor, Button, Checkbox, Chip, Group, List, NumberInput, Paper, Select, Stack, Switch, Text, TextInput, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { me } from '../../api/queries';
import { Loading } from '../../parts/Loading';
import { Refusal } from '../../parts/Refusal';
import { SaveForm } from '../../parts/SaveForm';
import { praise } from '../../parts/confirm';
import { Moment } from '../../parts/time';
import { dayNames, format, lasting, parse, zones } from './cron';
import { type Workspace, templateQuery } from './data';

type Template = Schema<'Template'>;
const hour = 3_600_000;

/** When a workspace starts and stops by itself. */
export function Schedule({ w }: { w: Workspace }) {
  const template = useQuery(templateQuery(w.template_id));
  if (template.error) return <Refusal error={template.error} />;
  if (!template.data) return <Loading />;
  return (
    <Stack maw={720}>
      {w.latest_build.deadline && <Deadline w={w} at={w.latest_build.deadline} />}
      <Form w={w} t={template.data} />
      <OfTemplate w={w} t={template.data} />
    </Stack>
  );
}

function useAgain(w: Workspace) {
  const client = useQueryClient();
  return () => client.invalidateQueries({ queryKey: ['workspace', w.owner_name, w.name] });
}

/** When it stops next, and how to put that off. */
function Deadline({ w, at }: { w: Workspace; at: string }) {
  const move = useMutation({
    mutationFn: (by: number) => api.put('/workspaces/{workspace}/extend', { path: { workspace: w.id }, body: { deadline: new Date(Date.parse(at) + by).toISOString() } }),
    onSuccess: useAgain(w),
  });
  const last = w.latest_build.max_deadline;
  return (
    <Alert color="blue" title={<>It stops <Moment at={at} /></>}>
      <Stack gap="xs">
        {last && (
          <Text size="sm">
            At the latest <Moment at={last} />, as its template has it.
          </Text>
        )}
        <Group gap="xs">
          <Button size="xs" variant="light" loading={move.isPending} onClick={() => move.mutate(-hour)}>
            One hour earlier
          </Button>
          <Button size="xs" variant="light" loading={move.isPending} onClick={() => move.mutate(hour)}>
            One hour later
          </Button>
        </Group>
        <Refusal error={move.error} />
      </Stack>
    </Alert>
  );
}

function Form({ w, t }: { w: Workspace; t: Template }) {
  const again = useAgain(w);
  const start = w.autostart_schedule ?? '';
  const known = start === '' ? undefined : parse(start);
  const [on, setOn] = useState(start !== '');
  const [time, setTime] = useState(known ? `${String(known.hour).padStart(2, '0')}:${String(known.minute).padStart(2, '0')}` : '09:00');
  const [zone, setZone] = useState(known?.zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone);
  const [week, setWeek] = useState<string[]>((known?.days ?? [1, 2, 3, 4, 5]).map(String));
  const [stops, setStops] = useState(Boolean(w.ttl_ms));
  const [hours, setHours] = useState<number | string>((w.ttl_ms || t.default_ttl_ms || 8 * hour) / hour);
  const save = useMutation({
    mutationFn: async () => {
      const path = { workspace: w.id };
      const [h = 0, m = 0] = time.split(':').map(Number);
      const schedule = on ? format({ zone, hour: h, minute: m, days: week.map(Number).sort() }) : undefined;
      const ttl = stops ? Math.round(Number(hours) * hour) : null;
      if (t.allow_user_autostart) await api.put('/workspaces/{workspace}/autostart', { path, body: { schedule } });
      if (t.allow_user_autostop) await api.put('/workspaces/{workspace}/ttl', { path, body: { ttl_ms: ttl } });
    },
    onSuccess: () => {
      praise('The schedule is saved');
      void again();
    },
  });
  const may = (day: number) => t.autostart_requirement.days_of_week.includes(dayNames[day] ?? '');
  const idle = week.length > 0 && !week.some((d) => may(Number(d)));
  const forbidden = 'The template does not let you choose this.';
  return (
    <SaveForm error={save.error} pending={save.isPending} disabled={(on && week.length === 0) || !(t.allow_user_autostart || t.allow_user_autostop)} onSave={() => save.mutate()}>
      <Title order={2} size="h3">
        Start
      </Title>
      {w.next_start_at && (
        <Text size="sm">
          It starts next <Moment at={w.next_start_at} />.
        </Text>
      )}
      {start !== '' && !known && <Text size="sm">The schedule {start} is not one that this form can show; saving replaces it.</Text>}
      <Switch label="Start by itself" checked={on} disabled={!t.allow_user_autostart} description={t.allow_user_autostart ? undefined : forbidden} onChange={(e) => setOn(e.currentTarget.checked)} />
      {on && (
        <>
          <Group align="flex-end">
            <TextInput type="time" label="At" value={time} required onChange={(e) => setTime(e.currentTarget.value)} />
            <Select label="Time zone" searchable allowDeselect={false} data={zones(zone)} value={zone} onChange={(z) => setZone(z ?? zone)} />
          </Group>
          <Chip.Group multiple value={week} onChange={setWeek}>
            <Group gap={6} role="group" aria-label="Days">
              {dayNames.map((d, i) => (
                <Chip key={d} value={String(i)} size="sm" disabled={!may(i) && !week.includes(String(i))}>
                  {d.slice(0, 1).toUpperCase() + d.slice(1, 3)}
                </Chip>
              ))}
            </Group>
          </Chip.Group>
          {week.some((d) => !may(Number(d))) && (
            <Text size="sm" c={idle ? 'red' : 'dimmed'}>
              Its template lets workspaces start by themselves on {t.autostart_requirement.days_of_week.join(', ') || 'no day'} only{idle ? ': this one never would.' : '.'}
            </Text>
          )}
          <Mismatch w={w} />
        </>
      )}
      <Title order={2} size="h3">
        Stop
      </Title>
      <Checkbox label="Stop by itself after a start" checked={stops} disabled={!t.allow_user_autostop} description={t.allow_user_autostop ? undefined : forbidden} onChange={(e) => setStops(e.currentTarget.checked)} />
      {stops && <NumberInput label="Hours after the start" min={0.02} max={24 * 30} decimalScale={2} value={hours} onChange={setHours} required disabled={!t.allow_user_autostop} />}
    </SaveForm>
  );
}

/** Says that a start by itself would fail for want of a value. */
function Mismatch({ w }: { w: Workspace }) {
  const { data } = useQuery({
    queryKey: ['workspace', w.owner_name, w.name, 'autostart'],
    queryFn: () => api.get('/workspaces/{workspace}/resolve-autostart', { path: { workspace: w.id } }),
  });
  if (!data?.parameter_mismatch) return null;
  return (
    <Alert color="yellow" title="It would not start by itself now">
      The template's newer version asks for parameters that this workspace has no values for. Update it once by hand.
    </Alert>
  );
}

/** What the template adds to the schedule. */
function OfTemplate({ w, t }: { w: Workspace; t: Template }) {
  const { data: self } = useQuery(me);
  const { days_of_week: days, weeks } = t.autostop_requirement;
  const quiet = useQuery({
    queryKey: ['quiet-hours', w.owner_id],
    queryFn: () => api.get('/users/{user}/quiet-hours', { path: { user: w.owner_id } }),
    enabled: days.length > 0,
    retry: false, // those of others are theirs
  });
  const own = self?.id === w.owner_id;
  const rules = [
    days.length > 0 && (
      <>
        It stops {days.length === 7 && weeks < 2 ? 'every day' : `${weeks > 1 ? `every ${weeks} weeks` : 'every week'} on ${days.join(', ')}`}, when {own ? 'your quiet hours' : `the quiet hours of ${w.owner_name}`} begin
        {quiet.data && `, at ${quiet.data.time} (${quiet.data.timezone})`}, whoever works then.{' '}
        {own && quiet.data?.user_can_set && (
          <Anchor component={Link} to="/settings/schedule" inherit underline="always">
            Choose your quiet hours
          </Anchor>
        )}
      </>
    ),
    t.activity_bump_ms > 0 && <>While somebody works in it, it stops {lasting(t.activity_bump_ms)} later at the earliest.</>,
    t.failure_ttl_ms > 0 && <>A start that failed is stopped after {lasting(t.failure_ttl_ms)}.</>,
    t.time_til_dormant_ms > 0 && <>Unused for {lasting(t.time_til_dormant_ms)} it becomes dormant.</>,
    t.time_til_dormant_autodelete_ms > 0 && <>Dormant for {lasting(t.time_til_dormant_autodelete_ms)} it is deleted, with everything in it.</>,
  ].filter(Boolean);
  if (rules.length === 0) return null;
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h3" mb="xs">
        What its template adds
      </Title>
      <List size="sm" spacing={4}>
        {rules.map((rule, i) => (
          <List.Item key={i}>{rule}</List.Item>
        ))}
      </List>
    </Paper>
  );
}
