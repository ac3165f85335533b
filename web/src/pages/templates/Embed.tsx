import { Checkbox, Group, Paper, Select, Stack, Text, TextInput, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Loading } from '../../parts/Loading';
import { ParameterField } from '../../parts/ParameterField';
import { Refusal } from '../../parts/Refusal';
import { Snippet } from '../../parts/Copy';
import { writeLink } from '../../parts/link';
import { parametersQuery } from '../../parts/parameter';
import type { Template } from './data';

/** A button for README files and other sites, that leads to a new workspace of the template. */
export default function Embed({ t }: { t: Template }) {
  const parameters = useQuery(parametersQuery(t.active_version_id));
  const [auto, setAuto] = useState(false);
  const [name, setName] = useState('');
  const [values, setValues] = useState<Record<string, string>>({});
  if (parameters.error) return <Refusal error={parameters.error} />;
  if (!parameters.data) return <Loading />;
  const link = writeLink({ organization: t.organization_name, template: t.name, auto, name, values });
  const picture = `${location.origin}/open-in-coder.svg`;
  const set = (parameter: string, value: string | undefined) =>
    setValues((old) => Object.fromEntries([...Object.entries(old).filter(([name]) => name !== parameter), ...(value === undefined ? [] : [[parameter, value]])]));
  return (
    <Stack maw={760}>
      <Text size="sm">A button for a README or another site. Whoever follows it comes to the form of a new workspace, with what you fill in here.</Text>
      <Paper withBorder p="md">
        <Stack>
          <Select
            label="Who follows it"
            allowDeselect={false}
            data={[
              { value: 'manual', label: 'sees the form' },
              { value: 'auto', label: 'confirms, and has the workspace' },
            ]}
            value={auto ? 'auto' : 'manual'}
            onChange={(v) => setAuto(v === 'auto')}
          />
          <TextInput
            label="Name of the workspace"
            description={auto ? 'Who has one of this name is led to it. Empty: another name each time.' : 'Empty: they choose.'}
            value={name}
            onChange={(e) => setName(e.currentTarget.value)}
          />
          {parameters.data.map((p) => {
            const value = values[p.name];
            return (
              <Stack key={p.name} gap="xs">
                <Checkbox
                  label={`Fill in ${p.display_name || p.name}`}
                  checked={value !== undefined}
                  onChange={(e) => set(p.name, e.currentTarget.checked ? p.default_value : undefined)}
                />
                {value !== undefined && <ParameterField parameter={{ ...p, required: false }} value={value} onChange={(v) => set(p.name, v)} />}
              </Stack>
            );
          })}
        </Stack>
      </Paper>
      <Paper withBorder p="md">
        <Stack>
          <Group justify="space-between">
            <Title order={2} size="h3">
              The button
            </Title>
            <a href={link}>
              <img src="/open-in-coder.svg" alt="Open in Coder" />
            </a>
          </Group>
          <Snippet label="Markdown" text={`[![Open in Coder](${picture})](${link})`} />
          <Snippet label="HTML" text={`<a href="${link.replaceAll('&', '&amp;')}"><img src="${picture}" alt="Open in Coder"></a>`} />
          <Snippet label="Address" text={link} />
        </Stack>
      </Paper>
    </Stack>
  );
}
