import { Alert, Badge, Button, Group, Paper, PasswordInput, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { Form } from '../../components/Form';
import { EmptyState } from '../../components/EmptyState';
import { Loading } from '../../components/Loading';
import { ErrorAlert } from '../../components/ErrorAlert';
import { VersionImport } from './VersionImport';
import { usePublish } from './VersionList';
import { type Template, isUnfinished, useVersion, variablesQuery, versionQuery } from './queries';

type Variable = Schema<'TemplateVersionVariable'>;

/** The form fields of Terraform variables. Sensitive values are never displayed; leaving one empty keeps it. */
export function VariableFields({
  variables,
  values,
  errors,
  onChange,
}: {
  variables: Variable[];
  values: Record<string, string>;
  /** Errors by the name of a variable. */
  errors?: Record<string, string>;
  onChange: (values: Record<string, string>) => void;
}) {
  return variables.map((variable) => {
    const set = (value: string) => onChange({ ...values, [variable.name]: value });
    const shared = {
      label: variable.name,
      description: variable.description || undefined,
      error: errors?.[variable.name],
      autoComplete: 'off',
    };
    if (variable.sensitive) {
      return (
        <PasswordInput
          key={variable.name}
          {...shared}
          placeholder={variable.required ? undefined : 'Leave empty to keep the current value'}
          autoComplete="new-password"
          value={values[variable.name] ?? ''}
          onChange={(e) => set(e.currentTarget.value)}
        />
      );
    }
    const value = values[variable.name] ?? variable.value;
    if (variable.type === 'bool')
      return (
        <Switch
          key={variable.name}
          {...shared}
          checked={value === 'true'}
          onChange={(e) => set(String(e.currentTarget.checked))}
        />
      );
    return (
      <TextInput
        key={variable.name}
        {...shared}
        placeholder={variable.default_value}
        required={variable.required}
        value={value}
        onChange={(e) => set(e.currentTarget.value)}
      />
    );
  });
}

/** Returns the entered values for the API. Sensitive values are included only when entered. */
export const toVariableValues = (variables: Variable[], values: Record<string, string>): Schema<'VariableValue'>[] =>
  variables.flatMap((variable) => {
    const value = values[variable.name];
    return value === undefined || (variable.sensitive && value === '') ? [] : [{ name: variable.name, value }];
  });

/** The Terraform variables of a template. Changing them builds a new version. */
export default function TemplateVariables({ template }: { template: Template }) {
  const version = useQuery(versionQuery(template.active_version_id));
  const variables = useQuery(variablesQuery(template.active_version_id));
  const [values, setValues] = useState<Record<string, string>>({});
  const [made, setMade] = useState('');
  const next = useVersion(made);
  const publish = usePublish(template);
  const build = useMutation({
    mutationFn: () =>
      api.post('/organizations/{organization}/templateversions', {
        path: { organization: template.organization_id },
        body: {
          template_id: template.id,
          storage_method: 'file',
          file_id: version.data?.job.file_id,
          provisioner: template.provisioner,
          message: 'Change variables',
          user_variable_values: toVariableValues(variables.data ?? [], values),
        },
      }),
    onSuccess: (templateVersion) => setMade(templateVersion.id),
  });
  const error = version.error ?? variables.error;
  if (error) return <ErrorAlert error={error} />;
  if (!variables.data || !version.data) return <Loading />;
  if (variables.data.length === 0)
    return <EmptyState title="No variables" hint="Terraform variable blocks in the template appear here." />;
  const ready = next.data?.job.status === 'succeeded';
  return (
    <Stack maw={720}>
      <Paper withBorder p="md">
        <Form
          error={build.error}
          onSubmit={() => {
            build.mutate();
          }}
        >
          <Stack>
            <Text size="sm">Changed values take effect when you build and publish a new version.</Text>
            <ErrorAlert error={build.error} />
            <VariableFields variables={variables.data} values={values} onChange={setValues} />
            <Group>
              <Button
                type="submit"
                loading={build.isPending || (next.data !== undefined && isUnfinished(next.data.job))}
                disabled={Object.keys(values).length === 0}
              >
                Build version
              </Button>
            </Group>
          </Stack>
        </Form>
      </Paper>
      {next.data && (
        <>
          {ready && (
            <Alert color="green" title={`Version ${next.data.name} is ready`}>
              <Group>
                {template.active_version_id === next.data.id ? (
                  <Badge>Active</Badge>
                ) : (
                  <Button size="xs" onClick={() => next.data && publish.mutate(next.data)} loading={publish.isPending}>
                    Publish
                  </Button>
                )}
                <Button
                  size="xs"
                  variant="default"
                  component={Link}
                  to={`/templates/${template.organization_name}/${template.name}/versions/${next.data.name}`}
                >
                  View version
                </Button>
              </Group>
            </Alert>
          )}
          <ErrorAlert error={publish.error} />
          <VersionImport version={next.data} />
        </>
      )}
    </Stack>
  );
}
