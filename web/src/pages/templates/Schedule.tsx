import { Checkbox, Group, NumberInput, Select, Stack, Switch, Title } from '@mantine/core';
import { useState } from 'react';
import { fieldError } from '../../parts/Refusal';
import { SaveForm } from '../../parts/SaveForm';
import { Conflict } from './Conflict';
import type { Template } from './data';
import { day, hour, times, useFields, useSave } from './form';

const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
const named = days.map((d) => ({ value: d, label: d.slice(0, 1).toUpperCase() + d.slice(1) }));

function Days({ label, description, value, onChange, error }: { label: string; description: string; value: string[]; onChange: (v: string[]) => void; error?: string }) {
  return (
    <Checkbox.Group label={label} description={description} value={value} onChange={onChange} error={error}>
      <Group gap="sm" mt="xs">
        {named.map((d) => (
          <Checkbox key={d.value} value={d.value} label={d.label} />
        ))}
      </Group>
    </Checkbox.Group>
  );
}

const fields = (t: Template) => ({
  ttl: t.default_ttl_ms / hour as string | number,
  bump: t.activity_bump_ms / hour as string | number,
  autostart: t.allow_user_autostart,
  autostop: t.allow_user_autostop,
  startDays: t.autostart_requirement.days_of_week,
  stopDays: t.autostop_requirement.days_of_week,
  weeks: t.autostop_requirement.weeks || 1,
  failure: t.failure_ttl_ms / day as string | number,
  dormant: t.time_til_dormant_ms / day as string | number,
  remove: t.time_til_dormant_autodelete_ms / day as string | number,
});

/** When workspaces of the template start, stop, rest and are deleted. */
export default function Schedule({ t }: { t: Template }) {
  const { f, setF, base, conflict, begin } = useFields(t, fields);
  const [reset, setReset] = useState(false);
  const [resetDormant, setResetDormant] = useState(false);
  const save = useSave(base, 'schedule', begin);
  const set = <K extends keyof typeof f>(k: K) => (v: (typeof f)[K]) => setF((old) => ({ ...old, [k]: v }));
  const submit = () =>
    save.mutate({
      default_ttl_ms: times(f.ttl, hour),
      activity_bump_ms: times(f.bump, hour),
      allow_user_autostart: f.autostart,
      allow_user_autostop: f.autostop,
      autostart_requirement: { days_of_week: days.filter((d) => f.startDays.includes(d)) },
      autostop_requirement: { days_of_week: days.filter((d) => f.stopDays.includes(d)), weeks: f.weeks },
      failure_ttl_ms: times(f.failure, day),
      time_til_dormant_ms: times(f.dormant, day),
      time_til_dormant_autodelete_ms: times(f.remove, day),
      update_workspace_last_used_at: reset,
      update_workspace_dormant_at: resetDormant,
    });
  const remove = times(f.remove, day);
  const error = (field: string) => fieldError(save.error, field);
  return (
    <Stack maw={760}>
      <SaveForm error={save.error} pending={save.isPending} onSave={submit}>
        {conflict && <Conflict t={t} begin={begin} />}
        <Title order={2} size="h3">
          Stop
        </Title>
        <NumberInput label="Stops after, in hours" description="Of a new workspace, unless its owner sets another. 0: it runs until somebody stops it." min={0} value={f.ttl} onChange={set('ttl')} error={error('default_ttl_ms')} />
        <NumberInput label="Activity puts the stop off by, in hours" description="0: it stops even while somebody works." min={0} value={f.bump} onChange={set('bump')} error={error('activity_bump_ms')} />
        <Switch label="Owners may set their own time to stop" checked={f.autostop} onChange={(e) => set('autostop')(e.currentTarget.checked)} />
        <Days label="Has to stop on" description="When the owner's quiet hours of these days begin, whoever works then, so that updates reach every workspace. It counts from the next start. None: never." value={f.stopDays} onChange={set('stopDays')} error={error('autostop_requirement')} />
        {f.stopDays.length > 0 && (
          <Select
            label="How often"
            allowDeselect={false}
            data={Array.from({ length: 16 }, (_, i) => ({ value: String(i + 1), label: i === 0 ? 'Every week' : `Every ${i + 1} weeks` }))}
            value={String(f.weeks)}
            onChange={(v) => set('weeks')(Number(v))}
          />
        )}
        <Title order={2} size="h3">
          Start
        </Title>
        <Switch label="Owners may have workspaces started on a schedule" checked={f.autostart} onChange={(e) => set('autostart')(e.currentTarget.checked)} />
        {f.autostart && <Days label="May start by themselves on" description="Schedules do nothing on other days." value={f.startDays} onChange={set('startDays')} error={error('autostart_requirement')} />}
        <Title order={2} size="h3">
          Clean up
        </Title>
        <NumberInput label="A failed start is stopped after, in days" description="0: it stays as it is." min={0} value={f.failure} onChange={set('failure')} error={error('failure_ttl_ms')} />
        <NumberInput label="Unused workspaces become dormant after, in days" description="Dormant ones are stopped, and start again only when somebody wakes them. 0: never." min={0} value={f.dormant} onChange={set('dormant')} error={error('time_til_dormant_ms')} />
        <NumberInput label="Dormant workspaces are deleted after, in days" description="With everything in them. 0: never." min={0} value={f.remove} onChange={set('remove')} error={error('time_til_dormant_autodelete_ms')} />
        {times(f.dormant, day) !== t.time_til_dormant_ms && (
          <Checkbox label="Count from now on" description="Else workspaces that are long unused become dormant at once." checked={reset} onChange={(e) => setReset(e.currentTarget.checked)} />
        )}
        {remove > 0 && remove !== t.time_til_dormant_autodelete_ms && (
          <Checkbox
            label="Count for dormant ones from now on"
            description="Else workspaces that are dormant for longer will be deleted soon after you save, with everything in them."
            checked={resetDormant}
            onChange={(e) => setResetDormant(e.currentTarget.checked)}
          />
        )}
      </SaveForm>
    </Stack>
  );
}
