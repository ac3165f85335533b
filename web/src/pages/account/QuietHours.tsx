import { Button, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type Schema, api } from '../../api/client';
import { Loading } from '../../parts/Loading';
import { Refusal, fieldError } from '../../parts/Refusal';
import { praise } from '../../parts/confirm';
import { Moment } from '../../parts/time';

const path = { user: 'me' };
const key = ['quiet-hours'];

/** When workspaces that have to stop now and then are stopped. */
export function QuietHours() {
  const hours = useQuery({ queryKey: key, queryFn: () => api.get('/users/{user}/quiet-hours', { path }) });
  return (
    <Stack maw={520}>
      <Text size="sm">Some templates have workspaces stop every day or every week. That happens when your quiet hours begin, so choose a time at which you do not work.</Text>
      <Refusal error={hours.error} />
      {hours.isPending && <Loading />}
      {hours.data && <Form key={hours.data.raw_schedule} now={hours.data} />}
    </Stack>
  );
}

function Form({ now }: { now: Schema<'UserQuietHoursScheduleResponse'> }) {
  const client = useQueryClient();
  const [time, setTime] = useState(now.time);
  const [zone, setZone] = useState(now.user_set ? now.timezone : Intl.DateTimeFormat().resolvedOptions().timeZone || now.timezone);
  const save = useMutation({
    mutationFn: (schedule: string) => api.put('/users/{user}/quiet-hours', { path, body: { schedule } }),
    onSuccess: (data) => {
      client.setQueryData(key, data);
      praise('Saved');
    },
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    const [hour, minute] = time.split(':').map(Number);
    save.mutate(`CRON_TZ=${zone} ${minute} ${hour} * * *`);
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text>
          They begin every day at {now.time} ({now.timezone}), next <Moment at={now.next} />
          {now.user_set ? '.' : ', as for everybody who chose no other time.'}
        </Text>
        <Refusal error={save.error} />
        {!now.user_can_set && <Text size="sm">On this deployment people cannot choose their own.</Text>}
        {now.user_can_set && (
          <>
            <Group align="flex-end">
              <TextInput type="time" label="Begin at" required value={time} onChange={(e) => setTime(e.currentTarget.value)} error={fieldError(save.error, 'schedule')} />
              <Select label="Time zone" searchable allowDeselect={false} data={zones(zone)} value={zone} onChange={(z) => setZone(z ?? zone)} />
            </Group>
            <Group>
              <Button type="submit" loading={save.isPending}>
                Save
              </Button>
              {now.user_set && (
                <Button variant="default" loading={save.isPending} onClick={() => save.mutate('')}>
                  As for everybody
                </Button>
              )}
            </Group>
          </>
        )}
      </Stack>
    </form>
  );
}

const zones = (mine: string) => [...new Set([...Intl.supportedValuesOf('timeZone'), 'UTC', mine])].sort();
