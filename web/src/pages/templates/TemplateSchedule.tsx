import { Checkbox, Group, NumberInput, Select, Stack, Switch, Title } from '@mantine/core';
import { useState } from 'react';
import { getFieldError } from '../../components/ErrorAlert';
import { SettingsForm } from '../../components/SettingsForm';
import { EditConflict } from './EditConflict';
import type { Template } from './queries';
import { day, hour, toUnit, useTemplateFields, useSaveTemplate } from './settingsForm';

const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
const named = days.map((d) => ({ value: d, label: d.slice(0, 1).toUpperCase() + d.slice(1) }));

function DaysField({
  label,
  description,
  value,
  onChange,
  error,
}: {
  label: string;
  description: string;
  value: string[];
  onChange: (v: string[]) => void;
  error?: string;
}) {
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

const readFields = (template: Template) => ({
  ttl: (template.default_ttl_ms / hour) as string | number,
  bump: (template.activity_bump_ms / hour) as string | number,
  autostart: template.allow_user_autostart,
  autostop: template.allow_user_autostop,
  startDays: template.autostart_requirement.days_of_week,
  stopDays: template.autostop_requirement.days_of_week,
  weeks: template.autostop_requirement.weeks || 1,
  failure: (template.failure_ttl_ms / day) as string | number,
  dormant: (template.time_til_dormant_ms / day) as string | number,
  remove: (template.time_til_dormant_autodelete_ms / day) as string | number,
});

/** The scheduling rules for workspaces of the template. */
export default function TemplateSchedule({ template }: { template: Template }) {
  const { f, setF, base, conflict, begin, saved } = useTemplateFields(template, readFields);
  const [reset, setReset] = useState(false);
  const [resetDormant, setResetDormant] = useState(false);
  const save = useSaveTemplate(base, 'schedule', f, saved);
  const set =
    <K extends keyof typeof f>(k: K) =>
    (v: (typeof f)[K]) =>
      setF((old) => ({ ...old, [k]: v }));
  const submit = () =>
    save.mutate({
      default_ttl_ms: toUnit(f.ttl, hour),
      activity_bump_ms: toUnit(f.bump, hour),
      allow_user_autostart: f.autostart,
      allow_user_autostop: f.autostop,
      autostart_requirement: { days_of_week: days.filter((d) => f.startDays.includes(d)) },
      autostop_requirement: { days_of_week: days.filter((d) => f.stopDays.includes(d)), weeks: f.weeks },
      failure_ttl_ms: toUnit(f.failure, day),
      time_til_dormant_ms: toUnit(f.dormant, day),
      time_til_dormant_autodelete_ms: toUnit(f.remove, day),
      update_workspace_last_used_at: reset,
      update_workspace_dormant_at: resetDormant,
    });
  const remove = toUnit(f.remove, day);
  const error = (field: string) => getFieldError(save.error, field);
  return (
    <Stack maw={760}>
      <SettingsForm error={save.error} pending={save.isPending} onSave={submit}>
        {conflict && <EditConflict template={template} begin={begin} />}
        <Title order={2} size="h3">
          Autostop
        </Title>
        <NumberInput
          label="Default autostop (hours)"
          description="Time until new workspaces stop. 0 disables autostop."
          min={0}
          value={f.ttl}
          onChange={set('ttl')}
          error={error('default_ttl_ms')}
        />
        <NumberInput
          label="Activity bump (hours)"
          description="Time that activity postpones autostop. 0 disables the activity bump."
          min={0}
          value={f.bump}
          onChange={set('bump')}
          error={error('activity_bump_ms')}
        />
        <Switch
          label="Allow users to customize autostop"
          checked={f.autostop}
          onChange={(e) => set('autostop')(e.currentTarget.checked)}
        />
        <DaysField
          label="Autostop requirement"
          description="Workspaces must stop on these days when the owner's quiet hours start. Applies from the next start."
          value={f.stopDays}
          onChange={set('stopDays')}
          error={error('autostop_requirement')}
        />
        {f.stopDays.length > 0 && (
          <Select
            label="Frequency"
            allowDeselect={false}
            data={Array.from({ length: 16 }, (_, i) => ({
              value: String(i + 1),
              label: i === 0 ? 'Every week' : `Every ${i + 1} weeks`,
            }))}
            value={String(f.weeks)}
            onChange={(v) => set('weeks')(Number(v))}
          />
        )}
        <Title order={2} size="h3">
          Autostart
        </Title>
        <Switch
          label="Allow users to autostart workspaces"
          checked={f.autostart}
          onChange={(e) => set('autostart')(e.currentTarget.checked)}
        />
        {f.autostart && (
          <DaysField
            label="Days with autostart"
            description="Schedules have no effect on other days."
            value={f.startDays}
            onChange={set('startDays')}
            error={error('autostart_requirement')}
          />
        )}
        <Title order={2} size="h3">
          Cleanup
        </Title>
        <NumberInput
          label="Failure cleanup (days)"
          description="Time until workspaces with a failed start are stopped. 0 disables the cleanup."
          min={0}
          value={f.failure}
          onChange={set('failure')}
          error={error('failure_ttl_ms')}
        />
        <NumberInput
          label="Dormancy threshold (days)"
          description="Time until unused workspaces are stopped and become dormant. 0 disables dormancy."
          min={0}
          value={f.dormant}
          onChange={set('dormant')}
          error={error('time_til_dormant_ms')}
        />
        <NumberInput
          label="Dormancy auto-deletion (days)"
          description="Time until dormant workspaces are deleted. 0 disables deletion."
          min={0}
          value={f.remove}
          onChange={set('remove')}
          error={error('time_til_dormant_autodelete_ms')}
        />
        {toUnit(f.dormant, day) !== template.time_til_dormant_ms && (
          <Checkbox
            label="Reset the last use of all workspaces"
            description="Otherwise, workspaces that exceed the new threshold become dormant immediately."
            checked={reset}
            onChange={(e) => setReset(e.currentTarget.checked)}
          />
        )}
        {remove > 0 && remove !== template.time_til_dormant_autodelete_ms && (
          <Checkbox
            label="Reset the dormancy of all workspaces"
            description="Otherwise, workspaces that exceed the new limit are deleted soon after you save."
            checked={resetDormant}
            onChange={(e) => setResetDormant(e.currentTarget.checked)}
          />
        )}
      </SettingsForm>
    </Stack>
  );
}
