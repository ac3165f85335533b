import '@mantine/core/styles/Chip.css';
import {
  Alert,
  Anchor,
  Button,
  Chip,
  Group,
  List,
  NumberInput,
  Paper,
  Select,
  Stack,
  Switch,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { me } from '../../api/queries';
import { Loading } from '../../components/Loading';
import { ErrorAlert } from '../../components/ErrorAlert';
import { SettingsForm } from '../../components/SettingsForm';
import { notifySuccess } from '../../components/confirm';
import { RelativeTime, getTimeZone } from '../../components/time';
import { ActivityPanel } from './ActivityPanel';
import { dayNames, formatSchedule, formatConfiguredDuration, formatDays, parseSchedule, listTimeZones } from './cron';
import { type Workspace, templateQuery } from './queries';

type Template = Schema<'Template'>;
const hour = 3_600_000;

/** The autostart and autostop schedule of a workspace. */
export function WorkspaceSchedule({ workspace }: { workspace: Workspace }) {
  const template = useQuery(templateQuery(workspace.template_id));
  if (template.error) return <ErrorAlert error={template.error} />;
  if (!template.data) return <Loading />;
  return (
    <Stack maw={720}>
      {workspace.latest_build.deadline && (
        <AutostopDeadline workspace={workspace} at={workspace.latest_build.deadline} />
      )}
      <ScheduleForm workspace={workspace} template={template.data} />
      <TemplateRules workspace={workspace} template={template.data} />
      <ActivityPanel workspace={workspace} />
    </Stack>
  );
}

function useRefetchWorkspace(workspace: Workspace) {
  const client = useQueryClient();
  return () => client.invalidateQueries({ queryKey: ['workspace', workspace.owner_name, workspace.name] });
}

/** The next autostop, with buttons to move it. */
function AutostopDeadline({ workspace, at }: { workspace: Workspace; at: string }) {
  const move = useMutation({
    mutationFn: (by: number) =>
      api.put('/workspaces/{workspace}/extend', {
        path: { workspace: workspace.id },
        body: { deadline: new Date(Date.parse(at) + by).toISOString() },
      }),
    onSuccess: useRefetchWorkspace(workspace),
  });
  const last = workspace.latest_build.max_deadline;
  return (
    <Alert
      color="blue"
      title={
        <>
          Autostop <RelativeTime at={at} />
        </>
      }
    >
      <Stack gap="xs">
        {last && (
          <Text size="sm">
            The template requires a stop <RelativeTime at={last} /> at the latest.
          </Text>
        )}
        <Group gap="xs">
          <Button size="xs" variant="light" loading={move.isPending} onClick={() => move.mutate(-hour)}>
            1 hour earlier
          </Button>
          <Button size="xs" variant="light" loading={move.isPending} onClick={() => move.mutate(hour)}>
            1 hour later
          </Button>
        </Group>
        <ErrorAlert error={move.error} />
      </Stack>
    </Alert>
  );
}

function ScheduleForm({ workspace, template }: { workspace: Workspace; template: Template }) {
  const again = useRefetchWorkspace(workspace);
  const start = workspace.autostart_schedule ?? '';
  const known = start === '' ? undefined : parseSchedule(start);
  const [on, setOn] = useState(start !== '');
  const [time, setTime] = useState(
    known ? `${String(known.hour).padStart(2, '0')}:${String(known.minute).padStart(2, '0')}` : '09:00',
  );
  const [zone, setZone] = useState(known?.zone ?? getTimeZone());
  const [week, setWeek] = useState<string[]>((known?.days ?? [1, 2, 3, 4, 5]).map(String));
  const [stops, setStops] = useState(Boolean(workspace.ttl_ms));
  const [hours, setHours] = useState<number | string>((workspace.ttl_ms || template.default_ttl_ms || 8 * hour) / hour);
  const save = useMutation({
    mutationFn: async () => {
      const path = { workspace: workspace.id };
      const [h = 0, m = 0] = time.split(':').map(Number);
      const schedule = on ? formatSchedule({ zone, hour: h, minute: m, days: week.map(Number).sort() }) : undefined;
      const ttl = stops ? Math.round(Number(hours) * hour) : null;
      if (template.allow_user_autostart)
        await api.put('/workspaces/{workspace}/autostart', { path, body: { schedule } });
      if (template.allow_user_autostop) await api.put('/workspaces/{workspace}/ttl', { path, body: { ttl_ms: ttl } });
    },
    onSuccess: () => {
      notifySuccess('Schedule saved');
      void again();
    },
  });
  const may = (day: number) => template.autostart_requirement.days_of_week.includes(dayNames[day] ?? '');
  const idle = week.length > 0 && !week.some((d) => may(Number(d)));
  const forbidden = 'Not allowed by the template.';
  return (
    <SettingsForm
      error={save.error}
      pending={save.isPending}
      disabled={(on && week.length === 0) || !(template.allow_user_autostart || template.allow_user_autostop)}
      onSave={() => save.mutate()}
    >
      <Title order={2} size="h3">
        Autostart
      </Title>
      {workspace.next_start_at && (
        <Text size="sm">
          Next start <RelativeTime at={workspace.next_start_at} />
        </Text>
      )}
      {start !== '' && !known && (
        <Text size="sm">This form cannot display the schedule {start}. Saving replaces it.</Text>
      )}
      <Switch
        label="Enable autostart"
        checked={on}
        disabled={!template.allow_user_autostart}
        description={template.allow_user_autostart ? undefined : forbidden}
        onChange={(e) => setOn(e.currentTarget.checked)}
      />
      {on && (
        <>
          <Group align="flex-end">
            <TextInput
              type="time"
              label="Start time"
              value={time}
              required
              onChange={(e) => setTime(e.currentTarget.value)}
            />
            <Select
              label="Time zone"
              searchable
              allowDeselect={false}
              data={listTimeZones(zone)}
              value={zone}
              onChange={(z) => setZone(z ?? zone)}
            />
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
              The template allows autostart only on{' '}
              {formatDays(template.autostart_requirement.days_of_week) || 'no day'}.
              {idle && ' This workspace would never start.'}
            </Text>
          )}
          <ParameterMismatch workspace={workspace} />
        </>
      )}
      <Title order={2} size="h3">
        Autostop
      </Title>
      <Switch
        label="Enable autostop"
        checked={stops}
        disabled={!template.allow_user_autostop}
        description={template.allow_user_autostop ? undefined : forbidden}
        onChange={(e) => setStops(e.currentTarget.checked)}
      />
      {stops && (
        <NumberInput
          label="Time until shutdown (hours)"
          min={0.02}
          max={24 * 30}
          decimalScale={2}
          value={hours}
          onChange={setHours}
          required
          disabled={!template.allow_user_autostop}
        />
      )}
    </SettingsForm>
  );
}

/** Warns that autostart would fail because a parameter has no value. */
function ParameterMismatch({ workspace }: { workspace: Workspace }) {
  const { data } = useQuery({
    queryKey: ['workspace', workspace.owner_name, workspace.name, 'autostart'],
    queryFn: () => api.get('/workspaces/{workspace}/resolve-autostart', { path: { workspace: workspace.id } }),
  });
  if (!data?.parameter_mismatch) return null;
  return (
    <Alert color="yellow" title="Autostart would fail">
      The active template version requires new parameter values. Update the workspace manually.
    </Alert>
  );
}

/** The scheduling rules of the template. */
function TemplateRules({ workspace, template }: { workspace: Workspace; template: Template }) {
  const { data: self } = useQuery(me);
  const { days_of_week: days, weeks } = template.autostop_requirement;
  const quiet = useQuery({
    queryKey: ['quiet-hours', workspace.owner_id],
    queryFn: () => api.get('/users/{user}/quiet-hours', { path: { user: workspace.owner_id } }),
    enabled: days.length > 0,
    retry: false, // quiet hours of other users may be hidden
  });
  const own = self?.id === workspace.owner_id;
  const rules = [
    days.length > 0 && (
      <>
        Required stop{' '}
        {days.length === 7 && weeks < 2
          ? 'every day'
          : `${weeks > 1 ? `every ${weeks} weeks` : 'every week'} on ${formatDays(days)}`}
        , when {own ? 'your quiet hours' : `the quiet hours of ${workspace.owner_name}`} start
        {quiet.data && `, at ${quiet.data.time} (${quiet.data.timezone})`}.{' '}
        {own && quiet.data?.user_can_set && (
          <Anchor component={Link} to="/settings/schedule" inherit underline="always">
            Edit quiet hours
          </Anchor>
        )}
      </>
    ),
    template.activity_bump_ms > 0 && (
      <>Activity postpones autostop by {formatConfiguredDuration(template.activity_bump_ms)}.</>
    ),
    template.failure_ttl_ms > 0 && (
      <>A failed start is stopped after {formatConfiguredDuration(template.failure_ttl_ms)}.</>
    ),
    template.time_til_dormant_ms > 0 && (
      <>Becomes dormant after {formatConfiguredDuration(template.time_til_dormant_ms)} without use.</>
    ),
    template.time_til_dormant_autodelete_ms > 0 && (
      <>Deleted after {formatConfiguredDuration(template.time_til_dormant_autodelete_ms)} of dormancy.</>
    ),
  ].filter(Boolean);
  if (rules.length === 0) return null;
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h3" mb="xs">
        Template rules
      </Title>
      <List size="sm" spacing={4}>
        {rules.map((rule, i) => (
          <List.Item key={i}>{rule}</List.Item>
        ))}
      </List>
    </Paper>
  );
}
