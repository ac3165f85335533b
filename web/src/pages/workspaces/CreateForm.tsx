import { Alert, Button, Group, Paper, Select, Stack, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { type Schema, api } from '../../api/client';
import { ParameterField } from '../../parts/ParameterField';
import { Refusal, fieldError } from '../../parts/Refusal';
import { complaint, fromPreview, useForm } from '../../parts/form';
import { type Parameter, problem } from '../../parts/parameter';
import { mostReady } from '../../parts/preset';
import { Consent } from './Consent';
import { Cost } from './Cost';
import { Owner } from './Owner';

export interface Start {
  name: string;
  values: Record<string, string>;
  /** Parameters that cannot be changed. */
  fixed: Set<string>;
  /** The link that was followed wants no form. */
  auto: boolean;
}

interface Props {
  self: { id: string; username: string };
  template: Schema<'Template'>;
  parameters: Parameter[]; // that depend on nothing
  presets: Schema<'Preset'>[];
  start: Start;
}

/** The form of a new workspace. */
export function CreateForm({ self, template, parameters: plain, presets, start }: Props) {
  const navigate = useNavigate();
  const [owner, setOwner] = useState(self.id);
  const [name, setName] = useState(start.name);
  const [preset, setPreset] = useState<Schema<'Preset'> | undefined>(Object.keys(start.values).length > 0 ? undefined : presets.find((p) => p.default));
  const [typed, setTyped] = useState<Record<string, string>>(start.values);
  const [tried, setTried] = useState(false);
  const [asks, setAsks] = useState(start.auto);
  const ofPreset = new Map((preset?.parameters ?? []).map((p) => [p.name, p.value]));
  const form = useForm(template.active_version_id, owner, { ...typed, ...Object.fromEntries(ofPreset) });
  const parameters = form.data?.parameters.map(fromPreview) ?? plain;
  const said = new Map(form.data?.parameters.map((p) => [p.name, complaint(p.diagnostics)]));
  const value = (p: Parameter) => ofPreset.get(p.name) ?? typed[p.name] ?? p.default_value;
  const wrong = parameters.filter((p) => problem(p, value(p)));
  const unknown = Object.keys(start.values).filter((v) => !parameters.some((p) => p.name === v));
  const create = useMutation({
    mutationFn: () =>
      api.post('/users/{user}/workspaces', {
        path: { user: owner },
        body: {
          name,
          template_id: template.id,
          rich_parameter_values: parameters.map((p) => ({ name: p.name, value: value(p) })),
          template_version_preset_id: preset?.id,
        },
      }),
    onSuccess: (w) => navigate({ to: '/@{$owner}/$workspace', params: { owner: w.owner_name, workspace: w.name }, search: {} }),
    onError: () => setAsks(false),
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    setTried(true);
    if (name !== '' && wrong.length === 0) create.mutate();
  };
  const cost = <Cost version={template.active_version_id} organization={template.organization_id} owner={owner} />;
  if (asks && (form.data || form.error) && wrong.length === 0) {
    const shown = parameters.filter((p) => typed[p.name] !== undefined).map((p): [string, string] => [p.display_name || p.name, value(p)]);
    return <Consent name={name} template={template} values={shown} cost={cost} pending={create.isPending} onYes={() => create.mutate()} onForm={() => setAsks(false)} />;
  }
  return (
    <Paper withBorder p="md">
      <form onSubmit={submit} noValidate>
        <Stack>
          <Refusal error={create.error} />
          {form.data && complaint(form.data.diagnostics) && <Alert color="red">{complaint(form.data.diagnostics)}</Alert>}
          {form.data && unknown.length > 0 && <Alert color="yellow">The template has no parameter {unknown.join(', ')}, which was given a value. It is left out.</Alert>}
          <Owner organization={template.organization_id} self={self} value={owner} onChange={setOwner} />
          <TextInput
            label="Name"
            required
            autoFocus
            description="Letters, digits and hyphens, at most 32."
            value={name}
            onChange={(e) => setName(e.currentTarget.value)}
            error={fieldError(create.error, 'name') ?? (tried && name === '' ? 'Give it a name.' : undefined)}
          />
          {presets.length > 0 && (
            <Select
              label="Preset"
              description={
                preset && mostReady(preset) > 0
                  ? `${preset.description || 'Workspaces of this preset are built ahead'}: one that stands ready is yours in a moment.`
                  : preset?.description || 'Values for several parameters at once.'
              }
              placeholder="None"
              clearable
              data={presets.map((p) => ({ value: p.id, label: mostReady(p) > 0 ? `${p.name} (kept ready)` : p.name }))}
              value={preset?.id ?? null}
              onChange={(id) => setPreset(presets.find((p) => p.id === id))}
            />
          )}
          {parameters.length > 0 && (
            <Title order={2} size="h3">
              Parameters
            </Title>
          )}
          {parameters.map((p) => (
            <ParameterField
              key={p.name}
              parameter={p}
              value={value(p)}
              disabled={ofPreset.has(p.name) || start.fixed.has(p.name)}
              onChange={(v) => setTyped((t) => ({ ...t, [p.name]: v }))}
              error={tried || typed[p.name] !== undefined ? (problem(p, value(p)) ?? said.get(p.name)) : undefined}
            />
          ))}
          {cost}
          <Group>
            <Button type="submit" loading={create.isPending}>
              Create workspace
            </Button>
          </Group>
        </Stack>
      </form>
    </Paper>
  );
}
