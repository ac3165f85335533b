import { Alert, Button, Checkbox, Group, List, Progress as ProgressBar, Select, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconDownload } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { api } from '../api/client';
import { ErrorAlert } from '../components/ErrorAlert';
import { formatCount, formatNumber } from '../lib/text';
import { saveFile } from '../lib/saveFile';
import { type Bundle, type Progress, createBundle } from './bundleStream';

interface State {
  progress?: Progress;
  missing: Progress[];
  bundle?: Bundle;
  error?: string;
  running: boolean;
}

const idle: State = { missing: [], running: false };

/** Creates a support bundle and downloads it: of one workspace, or of a workspace to select. */
export default function CreateBundle({ workspace }: { workspace?: { id: string; name: string } }) {
  const [selected, setSelected] = useState<string | null>(null);
  const [template, setTemplate] = useState<string | null>(null);
  const [profiles, setProfiles] = useState(false);
  const [state, setState] = useState<State>(idle);
  const cancel = useRef<() => void>(undefined);
  useEffect(() => () => cancel.current?.(), []);
  const start = () => {
    setState({ ...idle, running: true });
    cancel.current = createBundle(
      { workspace: workspace?.id ?? selected ?? '', template: template ?? '', pprof: profiles },
      {
        onProgress: (progress) =>
          setState((s) => ({ ...s, progress, missing: progress.error ? [...s.missing, progress] : s.missing })),
        onDone: (bundle) => {
          setState((s) => ({ ...s, bundle, running: false }));
          saveFile(bundle.result.name, bundle.content);
        },
        onError: (error) => setState((s) => ({ ...s, error, running: false })),
      },
    );
  };
  const stop = () => {
    cancel.current?.();
    setState(idle);
  };
  return (
    <Stack>
      <Text size="sm">
        A support bundle is a zip file with health, configuration without secrets, provisioners and their queue, recent
        logs and metrics. With a workspace it also contains its builds, agent logs and connections. Parts that you
        cannot read are left out. Secrets are removed when their form or name identifies them: review the file before
        you share it.
      </Text>
      {!workspace && <WorkspaceSelect value={selected} onChange={setSelected} disabled={state.running} />}
      <TemplateSelect value={template} onChange={setTemplate} disabled={state.running} />
      <Checkbox
        label="Include profiles of the servers"
        description="CPU and memory profiles; takes about 10 seconds. Only owners can record them."
        checked={profiles}
        disabled={state.running}
        onChange={(e) => setProfiles(e.currentTarget.checked)}
      />
      <Group>
        <Button leftSection={<IconDownload size={16} />} loading={state.running} onClick={start}>
          Create support bundle
        </Button>
        {state.running && (
          <Button variant="default" onClick={stop}>
            Cancel
          </Button>
        )}
      </Group>
      <BundleState state={state} />
    </Stack>
  );
}

function BundleState({ state: { progress, missing, bundle, error, running } }: { state: State }) {
  const { done = 0, total = 0, part } = progress ?? {};
  return (
    <>
      {running && (
        <div>
          <ProgressBar value={total === 0 ? 0 : (100 * done) / total} aria-label="Progress" animated />
          <Text size="sm" c="dimmed" mt={4} role="status">
            {part ? `${done} of ${total}: ${part}` : 'Starting'}
          </Text>
        </div>
      )}
      {error && (
        <Alert color="red" variant="light" role="alert">
          {error}
        </Alert>
      )}
      {bundle && (
        <Alert color="green" variant="light" role="status">
          <Group justify="space-between">
            <Text size="sm">
              {bundle.result.name}: {formatCount(bundle.result.files, 'file')},{' '}
              {formatNumber(Math.max(1, Math.round(bundle.content.size / 1024)))} KiB
            </Text>
            <Button size="compact-sm" variant="default" onClick={() => saveFile(bundle.result.name, bundle.content)}>
              Download again
            </Button>
          </Group>
        </Alert>
      )}
      {missing.length > 0 && (
        <div>
          <Text size="sm">Missing parts:</Text>
          <List size="sm">
            {missing.map((m) => (
              <List.Item key={m.part}>
                {m.part}: {m.error}
              </List.Item>
            ))}
          </List>
        </div>
      )}
    </>
  );
}

interface SelectProps {
  value: string | null;
  onChange: (id: string | null) => void;
  disabled: boolean;
}

function WorkspaceSelect({ value, onChange, disabled }: SelectProps) {
  const [typed, setTyped] = useState('');
  const [q] = useDebouncedValue(typed, 250);
  const name = q.split('/').at(-1) ?? '';
  const { data, error } = useQuery({
    queryKey: ['workspaces', 'bundle', name],
    queryFn: () => api.get('/workspaces', { query: { q: name && `"${name.replaceAll('"', '')}"`, limit: 25 } }),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <Select
        label="Workspace"
        description="Leave empty for the deployment only."
        placeholder="None"
        searchable
        clearable
        disabled={disabled}
        data={(data?.workspaces ?? []).map((w) => ({ value: w.id, label: `${w.owner_name}/${w.name}` }))}
        filter={({ options }) => options}
        searchValue={typed}
        onSearchChange={setTyped}
        nothingFoundMessage="No workspaces found"
        value={value}
        onChange={onChange}
      />
      <ErrorAlert error={error} />
    </>
  );
}

function TemplateSelect({ value, onChange, disabled }: SelectProps) {
  const { data } = useQuery({ queryKey: ['templates', 'bundle'], queryFn: () => api.get('/templates') });
  return (
    <Select
      label="Template source"
      description="Includes the source of the active version."
      placeholder="None"
      searchable
      clearable
      disabled={disabled}
      data={(data ?? []).map((t) => ({ value: t.id, label: `${t.organization_name}/${t.name}` }))}
      nothingFoundMessage="No templates found"
      value={value}
      onChange={onChange}
    />
  );
}
