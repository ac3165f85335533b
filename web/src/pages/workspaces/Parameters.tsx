import { Alert, Button, Group, Paper, Stack, Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { Loading } from '../../parts/Loading';
import { ParameterField } from '../../parts/ParameterField';
import { Refusal } from '../../parts/Refusal';
import { type Parameter, parametersQuery, problem } from '../../parts/parameter';
import { type Workspace, buildValues, busy, useBuild } from './data';

/** The parameters of a workspace, to build it again with others, or with a newer version. */
export function Parameters({ w, onDone }: { w: Workspace; onDone: () => void }) {
  const version = w.outdated ? w.template_active_version_id : w.latest_build.template_version_id;
  const parameters = useQuery({ ...parametersQuery(version), placeholderData: keepPreviousData });
  const values = useQuery({ ...buildValues(w.latest_build.id), placeholderData: keepPreviousData }); // another build takes nothing away that was typed
  if (parameters.error ?? values.error) return <Refusal error={parameters.error ?? values.error} />;
  if (!parameters.data || !values.data) return <Loading />;
  const before = Object.fromEntries(values.data.map((v) => [v.name, v.value]));
  return <Form w={w} version={version} parameters={parameters.data} before={before} onDone={onDone} />;
}

interface Props {
  w: Workspace;
  version: string;
  parameters: Parameter[];
  before: Record<string, string>;
  onDone: () => void;
}

function Form({ w, version, parameters, before, onDone }: Props) {
  const [changed, setChanged] = useState<Record<string, string>>({});
  const [tried, setTried] = useState(false);
  const build = useBuild(w);
  const value = (p: Parameter) => changed[p.name] ?? (p.ephemeral ? p.default_value : (before[p.name] ?? p.default_value));
  const fixed = (p: Parameter) => !p.mutable && before[p.name] !== undefined;
  const wrong = parameters.filter((p) => !fixed(p) && problem(p, value(p), before[p.name]));
  const running = w.latest_build.transition === 'start' && w.latest_build.job.status === 'succeeded';
  const submit = (e: FormEvent) => {
    e.preventDefault();
    setTried(true);
    if (wrong.length > 0) return;
    build.mutate(
      { transition: 'start', restart: running, version: w.outdated ? version : undefined, values: parameters.filter((p) => !fixed(p)).map((p) => ({ name: p.name, value: value(p) })) },
      { onSuccess: onDone },
    );
  };
  return (
    <Paper withBorder p="md" maw={720}>
      <form onSubmit={submit} noValidate>
        <Stack>
          {w.outdated && (
            <Alert color="blue" title="A newer version of the template is there">
              These are its parameters. Building with them updates the workspace.
            </Alert>
          )}
          <Refusal error={build.error} />
          {parameters.length === 0 && <Text c="dimmed">The template has no parameters.</Text>}
          {parameters.map((p) => (
            <ParameterField
              key={p.name}
              parameter={p}
              value={value(p)}
              disabled={fixed(p)}
              onChange={(v) => setChanged((c) => ({ ...c, [p.name]: v }))}
              error={tried || changed[p.name] !== undefined ? problem(p, value(p), before[p.name]) : undefined}
            />
          ))}
          <Group>
            <Button type="submit" loading={build.isPending} disabled={busy(w)}>
              {w.outdated ? 'Update' : 'Save'} and {running ? 'restart' : 'start'}
            </Button>
            {busy(w) && (
              <Text size="sm" c="dimmed">
                A build is on its way; wait for it to end.
              </Text>
            )}
          </Group>
        </Stack>
      </form>
    </Paper>
  );
}
