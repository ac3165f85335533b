import { Button, Group, Paper, Select, Stack, TextInput, Textarea } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { ApiError, type Schema, api } from '../../api/client';
import { organizations } from '../../api/queries';
import { Refusal, fieldError } from '../../parts/Refusal';
import { Import } from './Import';
import { VariableFields, given } from './Variables';
import { unfinished, upload, useVersion, variablesQuery } from './data';
import { nameOf, nameProblem } from './names';

/** Where the source of a new template comes from. */
export type Source = { file: File } | { example: Schema<'TemplateExample'> };

const typeOf = (f: File): string => (/\.zip$/i.test(f.name) ? 'application/zip' : 'application/x-tar');

async function nameIsTaken(organization: string, name: string): Promise<boolean> {
  try {
    await api.get('/organizations/{organization}/templates/{templatename}', { path: { organization, templatename: name } });
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}

/** What the template is called; then its source is imported, and it is made. */
export function CreateForm({ source }: { source: Source }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const { data: orgs = [] } = useQuery(organizations);
  const example = 'example' in source ? source.example : undefined;
  const [chosen, setOrg] = useState<string | null>(null);
  const org = chosen ?? orgs.find((o) => o.is_default)?.id ?? orgs[0]?.id ?? '';
  const [f, setF] = useState({
    name: nameOf(example ? example.id : 'file' in source ? source.file.name : ''),
    display_name: example?.name ?? '',
    description: example?.description ?? '',
    icon: example?.icon ?? '',
  });
  const [values, setValues] = useState<Record<string, string>>({});
  const [made, setMade] = useState('');
  const version = useVersion(made);
  const job = version.data?.job;
  const failed = job?.status === 'failed';
  const variables = useQuery({ ...variablesQuery(made), enabled: made !== '' && failed });
  const build = useMutation({
    mutationFn: async () => {
      if (await nameIsTaken(org, f.name)) throw new ApiError(409, 'There is a template of this name.', '', { name: 'Choose another, or open that template and edit it.' });
      const file = 'file' in source ? await upload(source.file, typeOf(source.file)) : undefined;
      return api.post('/organizations/{organization}/templateversions', {
        path: { organization: org },
        body: { provisioner: 'terraform', storage_method: 'file', file_id: file, example_id: example?.id, user_variable_values: given(variables.data ?? [], values) },
      });
    },
    onSuccess: (v) => setMade(v.id),
  });
  const create = useMutation({
    mutationFn: () =>
      api.post('/organizations/{organization}/templates', {
        path: { organization: org },
        body: { ...f, template_version_id: made, disable_everyone_group_access: false, require_active_version: false, template_use_classic_parameter_flow: false },
      }),
    onSuccess: async (t) => {
      await client.invalidateQueries({ queryKey: ['templates'] });
      await navigate({ to: '/templates/$organization/$template', params: { organization: t.organization_name, template: t.name } });
    },
  });
  // The import that this page waits for makes the template, once.
  const ready = job?.status === 'succeeded' ? made : '';
  const done = useRef('');
  const { mutate } = create;
  useEffect(() => {
    if (ready === '' || done.current === ready) return;
    done.current = ready;
    mutate();
  }, [ready, mutate]);
  const wrong = nameProblem(f.name);
  const busy = build.isPending || create.isPending || (job !== undefined && unfinished(job));
  const submit = (e: FormEvent) => {
    e.preventDefault();
    if (wrong) return;
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
    error: fieldError(error, k),
    disabled: busy,
  });
  return (
    <Stack>
      <Paper withBorder p="md">
        <form onSubmit={submit} noValidate>
          <Stack>
            <Refusal error={error} />
            {orgs.length > 1 && (
              <Select label="Organization" allowDeselect={false} data={orgs.map((o) => ({ value: o.id, label: o.display_name || o.name }))} value={org} onChange={setOrg} disabled={busy || made !== ''} />
            )}
            <TextInput label="Name" required description="Part of its address and of commands." {...typed('name')} error={fieldError(error, 'name') ?? wrong} />
            <TextInput label="Display name" {...typed('display_name')} />
            <Textarea label="Description" autosize minRows={2} maxRows={6} {...typed('description')} />
            <TextInput label="Icon" description="The address of a picture." {...typed('icon')} />
            {variables.data && variables.data.length > 0 && <VariableFields variables={variables.data} values={values} onChange={setValues} />}
            <Group>
              <Button type="submit" loading={busy}>
                {failed ? 'Try again' : 'Create template'}
              </Button>
            </Group>
          </Stack>
        </form>
      </Paper>
      {version.data && <Import v={version.data} />}
    </Stack>
  );
}
