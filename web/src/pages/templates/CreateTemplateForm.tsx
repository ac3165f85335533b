import { Button, Grid, Group, Paper, Select, Stack, Text, TextInput, Textarea, Title } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { ApiError, type Schema, api } from '../../api/client';
import { organizations } from '../../api/queries';
import { Form } from '../../components/Form';
import { IconInput } from '../../components/IconInput';
import { NameField } from '../../components/NameField';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';
import { ModulePicker } from './ModulePicker';
import { SourcePreview } from './SourcePreview';
import { VersionImport } from './VersionImport';
import { VariableFields, toVariableValues } from './Variables';
import { writeTar } from './archive';
import { compositionQuery, isUnfinished, uploadSource, useVersion, variablesQuery } from './queries';
import { suggestName, validateName } from '../../lib/resourceName';

/** The source of a new template. */
export type Source = { file: File } | { example: Schema<'TemplateExample'> };

const getContentType = (f: File): string => (/\.zip$/i.test(f.name) ? 'application/zip' : 'application/x-tar');

async function isNameTaken(organization: string, name: string): Promise<boolean> {
  try {
    await api.get('/organizations/{organization}/templates/{templatename}', {
      path: { organization, templatename: name },
    });
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}

/** Uploads files as an archive and returns the id of the archive. */
const uploadFiles = (files: Schema<'TemplateFile'>[]): Promise<string> =>
  uploadSource(
    writeTar(files.map((file) => ({ path: file.path, mode: 0o644, data: new TextEncoder().encode(file.content) }))),
  );

/** Workspaces without a POSIX shell, which modules need. */
const isWindows = (example: Schema<'TemplateExample'>): boolean => example.tags.includes('windows');

/** The form for a new template. Submitting it imports the source, then creates the template. */
export function CreateTemplateForm({ source }: { source: Source }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const { data: orgs = [] } = useQuery(organizations);
  const example = 'example' in source ? source.example : undefined;
  const [chosen, setOrg] = useState<string | null>(null);
  const org = chosen ?? orgs.find((organization) => organization.is_default)?.id ?? orgs[0]?.id ?? '';
  const [f, setF] = useState({
    name: suggestName(example ? example.id : 'file' in source ? source.file.name : ''),
    display_name: example?.name ?? '',
    description: example?.description ?? '',
    icon: example?.icon ?? '',
  });
  const [values, setValues] = useState<Record<string, string>>({});
  const [tried, setTried] = useState(false);
  const [modules, setModules] = useState<Schema<'ComposeTemplateModule'>[]>([]);
  const [settled] = useDebouncedValue(modules, 300);
  const composition = useQuery({
    ...compositionQuery({ example_id: example?.id ?? '', modules: settled }),
    enabled: example !== undefined,
  });
  const [made, setMade] = useState('');
  const version = useVersion(made);
  const job = version.data?.job;
  const failed = job?.status === 'failed';
  const imported = useQuery({ ...variablesQuery(made), enabled: made !== '' && failed });
  const variables = imported.data ?? composition.data?.variables ?? [];
  const missing = variables.filter((variable) => variable.required && !values[variable.name]);
  /** Uploads the source, unless it is a starter template without modules. */
  const uploadChosen = async (): Promise<string | undefined> => {
    if ('file' in source) return uploadSource(source.file, getContentType(source.file));
    if (modules.length === 0) return undefined;
    const { files } = await client.fetchQuery(compositionQuery({ example_id: source.example.id, modules }));
    return uploadFiles(files);
  };
  const build = useMutation({
    mutationFn: async () => {
      if (await isNameTaken(org, f.name))
        throw new ApiError(409, 'The name is already taken.', '', { name: 'Choose another name.' });
      const file = await uploadChosen();
      return api.post('/organizations/{organization}/templateversions', {
        path: { organization: org },
        body: {
          provisioner: 'terraform',
          storage_method: 'file',
          file_id: file,
          example_id: file === undefined ? example?.id : undefined,
          user_variable_values: toVariableValues(variables, values),
        },
      });
    },
    onSuccess: (templateVersion) => setMade(templateVersion.id),
  });
  const create = useMutation({
    mutationFn: () =>
      api.post('/organizations/{organization}/templates', {
        path: { organization: org },
        body: {
          ...f,
          template_version_id: made,
          disable_everyone_group_access: false,
          require_active_version: false,
          template_use_classic_parameter_flow: false,
        },
      }),
    onSuccess: async (template) => {
      await client.invalidateQueries({ queryKey: ['templates'] });
      await navigate({
        to: '/templates/$organization/$template',
        params: { organization: template.organization_name, template: template.name },
      });
    },
  });
  // Create the template once its import succeeds.
  const ready = job?.status === 'succeeded' ? made : '';
  const done = useRef('');
  const { mutate } = create;
  useEffect(() => {
    if (ready === '' || done.current === ready) return;
    done.current = ready;
    mutate();
  }, [ready, mutate]);
  const wrong = validateName(f.name);
  const busy = build.isPending || create.isPending || (job !== undefined && isUnfinished(job));
  const submit = () => {
    setTried(true);
    if (wrong || missing.length > 0) return false;
    if (ready) create.mutate();
    else build.mutate();
  };
  const error = create.error ?? build.error;
  const typed = (k: keyof typeof f) => ({
    value: f[k],
    onChange: (e: { currentTarget: { value: string } }) => {
      const { value } = e.currentTarget;
      setF((old) => ({ ...old, [k]: value }));
    },
    error: getFieldError(error, k),
    disabled: busy,
  });
  const form = (
    <Stack>
      <Form error={error} onSubmit={submit} noValidate>
        <Stack>
          <ErrorAlert error={error} />
          <Paper withBorder p="md">
            <Stack>
              {orgs.length > 1 && (
                <Select
                  label="Organization"
                  allowDeselect={false}
                  data={orgs.map((organization) => ({
                    value: organization.id,
                    label: organization.display_name || organization.name,
                  }))}
                  value={org}
                  onChange={setOrg}
                  disabled={busy || made !== ''}
                />
              )}
              <NameField
                description="Used in URLs and in the CLI."
                value={f.name}
                onChange={(name) => setF((old) => ({ ...old, name }))}
                disabled={busy}
                tried
                error={getFieldError(error, 'name')}
              />
              <TextInput label="Display name" {...typed('display_name')} />
              <Textarea label="Description" autosize minRows={2} maxRows={6} {...typed('description')} />
              <IconInput {...typed('icon')} />
            </Stack>
          </Paper>
          {variables.length > 0 && (
            <Paper withBorder p="md" component="section" aria-label="Variables">
              <Stack>
                <Heading title="Variables" hint="Settings of the template. They can be changed later." />
                <VariableFields
                  variables={variables}
                  values={values}
                  onChange={setValues}
                  errors={tried ? Object.fromEntries(missing.map((v) => [v.name, 'Enter a value.'])) : undefined}
                />
              </Stack>
            </Paper>
          )}
          {example && !isWindows(example) && (
            <Paper withBorder p="md" component="section" aria-label="Modules">
              <Stack>
                <Heading title="Modules" hint="Each adds a Terraform file to the template." />
                <ErrorAlert error={composition.error} />
                <ModulePicker
                  chosen={modules}
                  onChange={setModules}
                  error={composition.error}
                  disabled={busy || made !== ''}
                />
              </Stack>
            </Paper>
          )}
          <Group>
            <Button type="submit" loading={busy} disabled={org === ''}>
              {failed ? 'Retry' : 'Create template'}
            </Button>
          </Group>
        </Stack>
      </Form>
      {version.data && <VersionImport version={version.data} />}
    </Stack>
  );
  if (!example) return form;
  return (
    <Grid>
      <Grid.Col span={{ base: 12, lg: 6 }}>{form}</Grid.Col>
      <Grid.Col span={{ base: 12, lg: 6 }}>
        {composition.data && <SourcePreview files={composition.data.files} />}
      </Grid.Col>
    </Grid>
  );
}

function Heading({ title, hint }: { title: string; hint: string }) {
  return (
    <div>
      <Title order={2}>{title}</Title>
      <Text size="sm" c="dimmed">
        {hint}
      </Text>
    </div>
  );
}
