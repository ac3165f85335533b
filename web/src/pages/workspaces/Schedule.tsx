import '@mantine/core/styles/Chip.css';
import { Alert, Button, Checkbox, Chip, Group, NumberInput, Paper, Select, Stack, Switch, Text, TextInput, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api } from '../../api/client';
import { Refusal } from '../../parts/Refusal';
import { Moment } from '../../parts/time';
import { format, parse } from './cron';
import type { Workspace } from './data';
import { notifications } from '../../parts/dialogs';

const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const hour = 3_600_000;

/** When a workspace starts and stops by itself. */
export function Schedule({ w }: { w: Workspace }) {
  const client = useQueryClient();
  const again = () => client.invalidateQueries({ queryKey: ['workspace', w.owner_name, w.name] });
  const template = useQuery({ queryKey: ['template', w.template_id], queryFn: () => api.get('/templates/{template}', { path: { template: w.template_id } }) });
  const start = w.autostart_schedule ?? '';
  const known = start === '' ? undefined : parse(start);
  const [on, setOn] = useState(start !== '');
  const [time, setTime] = useState(known ? `${String(known.hour).padStart(2, '0')}:${String(known.minute).padStart(2, '0')}` : '09:00');
  const [zone, setZone] = useState(known?.zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone);
  const [week, setWeek] = useState<string[]>((known?.days ?? [1, 2, 3, 4, 5]).map(String));
  const [stops, setStops] = useState(Boolean(w.ttl_ms));
  const [hours, setHours] = useState<number | string>((w.ttl_ms ?? 8 * hour) / hour);
  const save = useMutation({
    mutationFn: async () => {
      const [h = 0, m = 0] = time.split(':').map(Number);
      const schedule = on ? format({ zone, hour: h, minute: m, days: week.map(Number).sort() }) : undefined;
      await api.put('/workspaces/{workspace}/autostart', { path: { workspace: w.id }, body: { schedule } });
      await api.put('/workspaces/{workspace}/ttl', { path: { workspace: w.id }, body: { ttl_ms: stops ? Math.round(Number(hours) * hour) : null } });
    },
    onSuccess: () => {
      notifications.show({ message: 'The schedule is saved' });
      again();
    },
  });
  const extend = useMutation({
    mutationFn: () =>
      api.put('/workspaces/{workspace}/extend', {
        path: { workspace: w.id },
        body: { deadline: new Date(Date.parse(w.latest_build.deadline ?? '') + hour).toISOString() },
      }),
    onSuccess: again,
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    save.mutate();
  };
  const mayStart = template.data?.allow_user_autostart ?? true;
  const mayStop = template.data?.allow_user_autostop ?? true;
  return (
    <Stack maw={720}>
      {w.latest_build.deadline && (
        <Alert color="blue" title={<>It stops <Moment at={w.latest_build.deadline} /></>}>
          <Button size="xs" variant="light" loading={extend.isPending} onClick={() => extend.mutate()}>
            One hour later
          </Button>
          <Refusal error={extend.error} />
        </Alert>
      )}
      <Paper withBorder p="md">
        <form onSubmit={submit}>
          <Stack>
            <Refusal error={save.error} />
            <Title order={2} size="h3">Start</Title>
            {start !== '' && !known && <Text size="sm">The schedule {start} is not one that this form can show; saving replaces it.</Text>}
            <Switch label="Start by itself" checked={on} disabled={!mayStart} description={mayStart ? undefined : 'The template does not let you.'} onChange={(e) => setOn(e.currentTarget.checked)} />
            {on && (
              <>
                <Group align="flex-end">
                  <TextInput type="time" label="At" value={time} required onChange={(e) => setTime(e.currentTarget.value)} />
                  <Select label="Time zone" searchable data={Intl.supportedValuesOf('timeZone').concat('UTC')} value={zone} onChange={(z) => setZone(z ?? 'UTC')} />
                </Group>
                <Chip.Group multiple value={week} onChange={setWeek}>
                  <Group gap={6} role="group" aria-label="Days">
                    {days.map((d, i) => (
                      <Chip key={d} value={String(i)} size="sm">
                        {d}
                      </Chip>
                    ))}
                  </Group>
                </Chip.Group>
              </>
            )}
            <Title order={2} size="h3">Stop</Title>
            <Checkbox label="Stop by itself after a start" checked={stops} disabled={!mayStop} description={mayStop ? undefined : 'The template does not let you.'} onChange={(e) => setStops(e.currentTarget.checked)} />
            {stops && <NumberInput label="Hours after the start" min={0.02} max={24 * 30} decimalScale={2} value={hours} onChange={setHours} required />}
            <Group>
              <Button type="submit" loading={save.isPending} disabled={on && week.length === 0}>
                Save
              </Button>
            </Group>
          </Stack>
        </form>
      </Paper>
    </Stack>
  );
}
