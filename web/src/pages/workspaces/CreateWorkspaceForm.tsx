import { Alert, Button, Group, Paper, Select, Stack, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';
import { Form } from '../../components/Form';
import { NameField } from '../../components/NameField';
import { ParameterFields } from '../../components/ParameterFields';
import { RequiredAccounts, useRequiredAccounts } from '../../externalauth/RequiredAccounts';
import { useParameterForm } from '../../components/useParameterForm';
import { randomName } from '../../lib/createLink';
import type { Parameter } from '../../lib/parameter';
import { maxPrebuilds } from '../../lib/preset';
import { validateName } from '../../lib/resourceName';
import { ConfirmCreate } from './ConfirmCreate';
import { WorkspaceCost } from './Cost';
import { OwnerSelect } from './OwnerSelect';
import { useNameTaken } from './queries';

export interface InitialValues {
  name: string;
  values: Record<string, string>;
  /** Names of read-only parameters. */
  fixed: Set<string>;
  /** The link asks for a confirmation instead of the form. */
  auto: boolean;
}

interface Props {
  self: { id: string; username: string };
  template: Schema<'Template'>;
  parameters: Parameter[]; // the static ones, used until the dynamic ones are evaluated
  presets: Schema<'Preset'>[];
  start: InitialValues;
}

/** The form for a new workspace. */
export function CreateWorkspaceForm({ self, template, parameters: plain, presets, start }: Props) {
  const navigate = useNavigate();
  const [owner, setOwner] = useState(self);
  const [name, setName] = useState(start.name);
  const [suggestion] = useState(() => randomName(template.name));
  const [preset, setPreset] = useState<Schema<'Preset'> | undefined>(
    Object.keys(start.values).length > 0 ? undefined : presets.find((p) => p.Default),
  );
  const [tried, setTried] = useState(false);
  const [asks, setAsks] = useState(start.auto);
  const form = useParameterForm({
    version: template.active_version_id,
    owner: owner.id,
    plain,
    initial: start.values,
    preset,
    readOnly: start.fixed,
  });
  const accounts = useRequiredAccounts(template.active_version_id);
  const isOwn = owner.id === self.id; // whether others linked theirs is not known here
  const taken = useNameTaken(owner.username, name);
  const unknown = Object.keys(start.values).filter((v) => !form.parameters.some((parameter) => parameter.name === v));
  const create = useMutation({
    mutationFn: (values: Schema<'WorkspaceBuildParameter'>[]) =>
      api.post('/users/{user}/workspaces', {
        path: { user: owner.id },
        body: {
          name,
          template_id: template.id,
          rich_parameter_values: values,
          template_version_preset_id: preset?.ID,
        },
      }),
    onSuccess: (workspace) =>
      navigate({
        to: '/@{$owner}/$workspace',
        params: { owner: workspace.owner_name, workspace: workspace.name },
        search: {},
      }),
    onError: () => setAsks(false),
  });
  const submit = async () => {
    setTried(true);
    const values = await form.check();
    if (!values || taken || validateName(name) || (isOwn && accounts.missing.length > 0)) return false;
    create.mutate(values);
  };
  const cost = (
    <WorkspaceCost version={template.active_version_id} organization={template.organization_id} owner={owner.id} />
  );
  if (asks && form.ready && form.valid) {
    const shown = form.parameters
      .filter((parameter) => form.typed[parameter.name] !== undefined)
      .map((parameter): [string, string] => [parameter.display_name || parameter.name, form.value(parameter)]);
    return (
      <ConfirmCreate
        name={name}
        template={template}
        values={shown}
        cost={cost}
        pending={form.checking || create.isPending}
        onConfirm={() => void submit().then((accepted) => accepted === false && setAsks(false))}
        onEdit={() => setAsks(false)}
      />
    );
  }
  return (
    <Paper withBorder p="md">
      <Form error={create.error} onSubmit={submit} noValidate>
        <Stack>
          <ErrorAlert error={create.error} />
          {form.evaluated && unknown.length > 0 && (
            <Alert color="yellow">Unknown parameters in the link are ignored: {unknown.join(', ')}.</Alert>
          )}
          <OwnerSelect
            organization={template.organization_id}
            self={self}
            value={owner.id}
            onChange={(id, username) => setOwner({ id, username })}
          />
          <NameField
            autoFocus
            description="At most 32 letters, digits and hyphens."
            value={name}
            onChange={setName}
            tried={tried}
            suggestion={suggestion}
            error={
              taken
                ? `${owner.id === self.id ? 'You already have' : `${owner.username} already has`} a workspace with this name.`
                : getFieldError(create.error, 'name')
            }
          />
          {presets.length > 0 && <PresetSelect presets={presets} value={preset} onChange={setPreset} />}
          {form.parameters.length > 0 && (
            <Title order={2} size="h3">
              Parameters
            </Title>
          )}
          <ParameterFields form={form} />
          {isOwn && <RequiredAccounts required={accounts} tried={tried} />}
          {cost}
          <Group>
            <Button type="submit" loading={form.checking || create.isPending}>
              Create workspace
            </Button>
          </Group>
        </Stack>
      </Form>
    </Paper>
  );
}

interface PresetProps {
  presets: Schema<'Preset'>[];
  value: Schema<'Preset'> | undefined;
  onChange: (preset: Schema<'Preset'> | undefined) => void;
}

function PresetSelect({ presets, value, onChange }: PresetProps) {
  return (
    <Select
      label="Preset"
      description={
        value && maxPrebuilds(value) > 0
          ? `${value.Description ? `${value.Description}. ` : ''}Prebuilt workspaces are available for this preset.`
          : value?.Description || 'A set of parameter values.'
      }
      placeholder="None"
      clearable
      data={presets.map((p) => ({ value: p.ID, label: maxPrebuilds(p) > 0 ? `${p.Name} (prebuilt)` : p.Name }))}
      value={value?.ID ?? null}
      onChange={(id) => onChange(presets.find((p) => p.ID === id))}
    />
  );
}
