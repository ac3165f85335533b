import { Alert, Button, Group, Paper, Select, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { type Schema, api } from '../../api/client';
import { me } from '../../api/queries';
import { Icon } from '../../parts/Icon';
import { Loading } from '../../parts/Loading';
import { Page } from '../../parts/Page';
import { ParameterField } from '../../parts/ParameterField';
import { Refusal, fieldError } from '../../parts/Refusal';
import { complaint, fromPreview, useForm } from '../../parts/form';
import { type Parameter, problem } from '../../parts/parameter';
import { Cost } from './Cost';
import { versionParameters } from './data';

/** Making a workspace of a template: its name, a preset, its parameters. */
export default function Create() {
  const { organization, template: name } = useParams({ from: '/shell/templates/$organization/$template/workspace' });
  const template = useQuery({
    queryKey: ['template', organization, name],
    queryFn: () => api.get('/organizations/{organization}/templates/{templatename}', { path: { organization, templatename: name } }),
  });
  const version = template.data?.active_version_id ?? '';
  const parameters = useQuery({ ...versionParameters(version), enabled: version !== '' });
  const presets = useQuery({
    queryKey: ['version', version, 'presets'],
    queryFn: () => api.get('/templateversions/{templateversion}/presets', { path: { templateversion: version } }),
    enabled: version !== '',
  });
  const details = useQuery({
    queryKey: ['version', version],
    queryFn: () => api.get('/templateversions/{templateversion}', { path: { templateversion: version } }),
    enabled: version !== '',
  });
  const error = template.error ?? parameters.error ?? presets.error;
  return (
    <Page title="New workspace" wide={false}>
      <Refusal error={error} />
      {!error && (!template.data || !parameters.data || !presets.data) && <Loading />}
      {template.data && parameters.data && presets.data && (
        <Stack>
          <Group>
            <Icon src={template.data.icon} name={template.data.name} />
            <div>
              <Text fw={600}>{template.data.display_name || template.data.name}</Text>
              <Text size="sm" c="dimmed">
                {template.data.description}
              </Text>
            </div>
          </Group>
          <NoProvisioner matched={details.data?.matched_provisioners} />
          <Form template={template.data} parameters={parameters.data} presets={presets.data} />
        </Stack>
      )}
    </Page>
  );
}

/** Says before the submit that nobody is there to build. */
function NoProvisioner({ matched }: { matched?: Schema<'MatchedProvisioners'> | null }) {
  if (!matched || matched.available > 0) return null;
  return (
    <Alert color="yellow" title="No provisioner could build this now">
      {matched.count === 0
        ? 'None was ever there with the tags of this template. The workspace will wait until somebody starts one.'
        : `The ${matched.count} that match are not connected. The workspace will wait for them.`}
    </Alert>
  );
}

interface Props {
  template: Schema<'Template'>;
  parameters: Parameter[]; // that depend on nothing
  presets: Schema<'Preset'>[];
}

function Form({ template, parameters: fixed, presets }: Props) {
  const navigate = useNavigate();
  const { data: self } = useQuery(me);
  const [name, setName] = useState('');
  const [preset, setPreset] = useState<Schema<'Preset'> | undefined>(presets.find((p) => p.default));
  const [typed, setTyped] = useState<Record<string, string>>({});
  const [tried, setTried] = useState(false);
  const ofPreset = new Map((preset?.parameters ?? []).map((p) => [p.name, p.value]));
  const form = useForm(template.active_version_id, self?.id, { ...typed, ...Object.fromEntries(ofPreset) });
  const parameters = form.data?.parameters.map(fromPreview) ?? fixed;
  const said = new Map(form.data?.parameters.map((p) => [p.name, complaint(p.diagnostics)]));
  const value = (p: Parameter) => ofPreset.get(p.name) ?? typed[p.name] ?? p.default_value;
  const wrong = parameters.filter((p) => problem(p, value(p)));
  const create = useMutation({
    mutationFn: () =>
      api.post('/users/{user}/workspaces', {
        path: { user: 'me' },
        body: {
          name,
          template_id: template.id,
          rich_parameter_values: parameters.map((p) => ({ name: p.name, value: value(p) })),
          template_version_preset_id: preset?.id,
        },
      }),
    onSuccess: (w) => navigate({ to: '/@{$owner}/$workspace', params: { owner: w.owner_name, workspace: w.name }, search: {} }),
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    setTried(true);
    if (name !== '' && wrong.length === 0) create.mutate();
  };
  return (
    <Paper withBorder p="md">
      <form onSubmit={submit} noValidate>
        <Stack>
          <Refusal error={create.error} />
          {form.data && complaint(form.data.diagnostics) && <Alert color="red">{complaint(form.data.diagnostics)}</Alert>}
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
              description={preset?.description || 'Values for several parameters at once.'}
              placeholder="None"
              clearable
              data={presets.map((p) => ({ value: p.id, label: p.name }))}
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
              disabled={ofPreset.has(p.name)}
              onChange={(v) => setTyped((t) => ({ ...t, [p.name]: v }))}
              error={tried || typed[p.name] !== undefined ? (problem(p, value(p)) ?? said.get(p.name)) : undefined}
            />
          ))}
          <Cost version={template.active_version_id} organization={template.organization_id} />
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
