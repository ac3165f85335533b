import { Checkbox, Group, Paper, Select, Stack, Text, TextInput, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { me } from '../../api/queries';
import { Loading } from '../../components/Loading';
import { ParameterField } from '../../components/ParameterField';
import { ErrorAlert } from '../../components/ErrorAlert';
import { useParameterForm } from '../../components/useParameterForm';
import { CopySnippet } from '../../components/CopyButton';
import { buildCreateLink } from '../../lib/createLink';
import { parametersQuery } from '../../lib/parameter';
import type { Template } from './queries';

/** Generates a button for other sites that opens the form for a new workspace. */
export default function EmbedButton({ template }: { template: Template }) {
  const parameters = useQuery(parametersQuery(template.active_version_id));
  const [auto, setAuto] = useState(false);
  const [name, setName] = useState('');
  const { data: self } = useQuery(me);
  const form = useParameterForm({ version: template.active_version_id, owner: self?.id, plain: parameters.data ?? [] });
  if (parameters.error) return <ErrorAlert error={parameters.error} />;
  if (!parameters.data) return <Loading />;
  const values = form.typed;
  const link = buildCreateLink({
    organization: template.organization_name,
    template: template.name,
    auto,
    name,
    values,
  });
  const picture = `${location.origin}/open-in-coder.svg`;
  return (
    <Stack maw={760}>
      <Text size="sm">
        Add this button to a README or another site. It opens the form for a new workspace with the values below.
      </Text>
      <Paper withBorder p="md">
        <Stack>
          <Select
            label="Mode"
            allowDeselect={false}
            data={[
              { value: 'manual', label: 'Manual: show the form' },
              { value: 'auto', label: 'Automatic: ask for confirmation only' },
            ]}
            value={auto ? 'auto' : 'manual'}
            onChange={(v) => setAuto(v === 'auto')}
          />
          <TextInput
            label="Workspace name"
            description={
              auto
                ? 'An existing workspace of this name is opened instead. Leave empty for a random name.'
                : 'Leave empty to let the user choose.'
            }
            value={name}
            onChange={(e) => setName(e.currentTarget.value)}
          />
          {form.parameters.map((parameter) =>
            parameter.masked ? (
              <Text key={parameter.name} size="sm" c="dimmed">
                {parameter.display_name || parameter.name} is secret and cannot be part of a link.
              </Text>
            ) : (
              <Stack key={parameter.name} gap="xs">
                <Checkbox
                  label={`Prefill ${parameter.display_name || parameter.name}`}
                  checked={values[parameter.name] !== undefined}
                  onChange={(e) =>
                    form.set(parameter.name, e.currentTarget.checked ? form.value(parameter) : undefined)
                  }
                />
                {values[parameter.name] !== undefined && (
                  <ParameterField
                    parameter={{ ...parameter, required: false }}
                    value={form.value(parameter)}
                    error={form.error(parameter)}
                    onChange={(value) => form.set(parameter.name, value)}
                  />
                )}
              </Stack>
            ),
          )}
        </Stack>
      </Paper>
      <Paper withBorder p="md">
        <Stack>
          <Group justify="space-between">
            <Title order={2} size="h3">
              Button
            </Title>
            <a href={link}>
              <img src={`${import.meta.env.BASE_URL}open-in-coder.svg`} alt="Open in Coder" />
            </a>
          </Group>
          <CopySnippet label="Markdown" text={`[![Open in Coder](${picture})](${link})`} />
          <CopySnippet
            label="HTML"
            text={`<a href="${link.replaceAll('&', '&amp;')}"><img src="${picture}" alt="Open in Coder"></a>`}
          />
          <CopySnippet label="URL" text={link} />
        </Stack>
      </Paper>
    </Stack>
  );
}
