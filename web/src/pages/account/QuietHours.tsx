import { Button, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { Form } from '../../components/Form';
import { Loading } from '../../components/Loading';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';
import { notifySuccess } from '../../components/confirm';
import { RelativeTime, getTimeZone } from '../../components/time';

const path = { user: 'me' };
const key = ['quiet-hours'];

/** Quiet hours: when required autostops happen. */
export function QuietHours() {
  const hours = useQuery({ queryKey: key, queryFn: () => api.get('/users/{user}/quiet-hours', { path }) });
  return (
    <Stack maw={520}>
      <Text size="sm">
        Templates can require workspaces to stop regularly. Those stops happen when your quiet hours start.
      </Text>
      <ErrorAlert error={hours.error} />
      {hours.isPending && <Loading />}
      {hours.data && <QuietHoursForm key={hours.data.raw_schedule} now={hours.data} />}
    </Stack>
  );
}

function QuietHoursForm({ now }: { now: Schema<'UserQuietHoursScheduleResponse'> }) {
  const client = useQueryClient();
  const [time, setTime] = useState(now.time);
  const [zone, setZone] = useState(now.user_set ? now.timezone : getTimeZone());
  const save = useMutation({
    mutationFn: (schedule: string) => api.put('/users/{user}/quiet-hours', { path, body: { schedule } }),
    onSuccess: (data) => {
      client.setQueryData(key, data);
      notifySuccess('Quiet hours saved');
    },
  });
  const submit = () => {
    const [hour, minute] = time.split(':').map(Number);
    save.mutate(`CRON_TZ=${zone} ${minute} ${hour} * * *`);
  };
  return (
    <Form error={save.error} onSubmit={submit}>
      <Stack>
        <Text>
          Quiet hours start daily at {now.time} ({now.timezone}), next <RelativeTime at={now.next} />
          {now.user_set ? '.' : '. This is the deployment default.'}
        </Text>
        <ErrorAlert error={save.error} />
        {!now.user_can_set && <Text size="sm">This deployment does not allow custom quiet hours.</Text>}
        {now.user_can_set && (
          <>
            <Group align="flex-end">
              <TextInput
                type="time"
                label="Start time"
                required
                value={time}
                onChange={(e) => setTime(e.currentTarget.value)}
                error={getFieldError(save.error, 'schedule')}
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
            <Group>
              <Button type="submit" loading={save.isPending}>
                Save
              </Button>
              {now.user_set && (
                <Button variant="default" loading={save.isPending} onClick={() => save.mutate('')}>
                  Reset to default
                </Button>
              )}
            </Group>
          </>
        )}
      </Stack>
    </Form>
  );
}

const listTimeZones = (mine: string) => [...new Set([...Intl.supportedValuesOf('timeZone'), 'UTC', mine])].sort();
