import { Alert, Badge, Button, Group, Paper, PasswordInput, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { type Schema, api } from '../../api/client';
import { Empty } from '../../parts/Empty';
import { Loading } from '../../parts/Loading';
import { Refusal } from '../../parts/Refusal';
import { Import } from './Import';
import { usePublish } from './Versions';
import { type Template, unfinished, useVersion, variablesQuery, versionQuery } from './data';

type Variable = Schema<'TemplateVersionVariable'>;

/** The controls of variables. Sensitive values are never shown; empty keeps what is there. */
export function VariableFields({ variables, values, onChange }: { variables: Variable[]; values: Record<string, string>; onChange: (values: Record<string, string>) => void }) {
  return variables.map((v) => {
    const set = (value: string) => onChange({ ...values, [v.name]: value });
    const shared = { label: v.name, description: v.description || undefined, autoComplete: 'off' };
    if (v.sensitive) {
      return (
        <PasswordInput
          key={v.name}
          {...shared}
          placeholder={v.required ? undefined : 'Empty keeps the value there is'}
          autoComplete="new-password"
          value={values[v.name] ?? ''}
          onChange={(e) => set(e.currentTarget.value)}
        />
      );
    }
    const value = values[v.name] ?? v.value;
    if (v.type === 'bool') return <Switch key={v.name} {...shared} checked={value === 'true'} onChange={(e) => set(String(e.currentTarget.checked))} />;
    return <TextInput key={v.name} {...shared} placeholder={v.default_value} required={v.required} value={value} onChange={(e) => set(e.currentTarget.value)} />;
  });
}

/** The values that were given, as the server takes them: sensitive ones only when typed. */
export const given = (variables: Variable[], values: Record<string, string>): Schema<'VariableValue'>[] =>
  variables.flatMap((v) => {
    const value = values[v.name];
    return value === undefined || (v.sensitive && value === '') ? [] : [{ name: v.name, value }];
  });

/** The values that the template's source is imported with. Other values make another version. */
export default function Variables({ t }: { t: Template }) {
  const version = useQuery(versionQuery(t.active_version_id));
  const variables = useQuery(variablesQuery(t.active_version_id));
  const [values, setValues] = useState<Record<string, string>>({});
  const [made, setMade] = useState('');
  const next = useVersion(made);
  const publish = usePublish(t);
  const build = useMutation({
    mutationFn: () =>
      api.post('/organizations/{organization}/templateversions', {
        path: { organization: t.organization_id },
        body: {
          template_id: t.id,
          storage_method: 'file',
          file_id: version.data?.job.file_id,
          provisioner: t.provisioner,
          message: 'Variables changed',
          user_variable_values: given(variables.data ?? [], values),
        },
      }),
    onSuccess: (v) => setMade(v.id),
  });
  const error = version.error ?? variables.error;
  if (error) return <Refusal error={error} />;
  if (!variables.data || !version.data) return <Loading />;
  if (variables.data.length === 0) return <Empty title="The template has no variables" hint="A variable block in its Terraform is shown here, to be set without touching the source." />;
  const ready = next.data?.job.status === 'succeeded';
  return (
    <Stack maw={720}>
      <Paper withBorder p="md">
        <form
          onSubmit={(e: FormEvent) => {
            e.preventDefault();
            build.mutate();
          }}
        >
          <Stack>
            <Text size="sm">Other values make another version: it is imported, then you publish it.</Text>
            <Refusal error={build.error} />
            <VariableFields variables={variables.data} values={values} onChange={setValues} />
            <Group>
              <Button type="submit" loading={build.isPending || (next.data !== undefined && unfinished(next.data.job))} disabled={Object.keys(values).length === 0}>
                Build a version
              </Button>
            </Group>
          </Stack>
        </form>
      </Paper>
      {next.data && (
        <>
          {ready && (
            <Alert color="green" title={`${next.data.name} is ready`}>
              <Group>
                {t.active_version_id === next.data.id ? (
                  <Badge>active</Badge>
                ) : (
                  <Button size="xs" onClick={() => next.data && publish.mutate(next.data)} loading={publish.isPending}>
                    Publish
                  </Button>
                )}
                <Button size="xs" variant="default" component={Link} to={`/templates/${t.organization_name}/${t.name}/versions/${next.data.name}`}>
                  See the version
                </Button>
              </Group>
            </Alert>
          )}
          <Refusal error={publish.error} />
          <Import v={next.data} />
        </>
      )}
    </Stack>
  );
}
