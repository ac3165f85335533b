import { Button, MultiSelect, Select, Stack, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { Form } from '../../components/Form';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';
import { showSecret } from '../../components/confirm';
import { modals } from '../../components/dialogs';
import { listLifetimes } from './tokenLifetimes';

/** The form for a new API token. Its secret is shown once. */
export function CreateToken({ user = 'me' }: { user?: string }) {
  const path = { user };
  const client = useQueryClient();
  const config = useQuery({
    queryKey: ['token-config', user],
    queryFn: () => api.get('/users/{user}/keys/tokens/tokenconfig', { path }),
  });
  const known = useQuery({ queryKey: ['scopes'], queryFn: () => api.get('/auth/scopes') });
  const [name, setName] = useState('');
  const limits = useQuery({
    queryKey: ['service-account', user],
    queryFn: () => api.get('/users/{user}/service-account', { path }),
    enabled: user !== 'me',
  });
  const permitted = limits.data?.scopes ?? [];
  const [chosen, setChosen] = useState<string[] | undefined>();
  const scopes = chosen ?? (permitted.length > 0 ? permitted : ['coder:all']);
  const [days, setDays] = useState('30');
  const [only, setOnly] = useState<string[]>([]);
  const choices = listLifetimes(config.data?.max_token_lifetime);
  const lives = choices.some((c) => c.value === days) ? days : (choices.at(-1)?.value ?? days);
  const create = useMutation({
    mutationFn: () =>
      api.post('/users/{user}/keys/tokens', {
        path,
        body: {
          token_name: name,
          scopes: scopes as Schema<'APIKeyScope'>[],
          allow_list: only,
          lifetime: Number(lives) * 86_400_000_000_000,
        },
      }),
    onSuccess: async ({ key }) => {
      await client.invalidateQueries({ queryKey: ['tokens'] });
      modals.closeAll();
      showSecret(`Token ${name}`, key, 'Set it as CODER_SESSION_TOKEN.');
    },
  });
  return (
    <Form
      error={create.error}
      onSubmit={() => {
        create.mutate();
      }}
    >
      <Stack>
        <ErrorAlert error={create.error} />
        <TextInput
          data-autofocus
          label="Name"
          required
          value={name}
          onChange={(e) => setName(e.currentTarget.value)}
          error={getFieldError(create.error, 'token_name')}
        />
        <Select
          label="Lifetime"
          allowDeselect={false}
          value={lives}
          onChange={(v) => setDays(v ?? '30')}
          data={choices}
          error={getFieldError(create.error, 'lifetime')}
        />
        <MultiSelect
          label="Scopes"
          required
          searchable
          description="Permissions of the token."
          data={[...new Set(['coder:all', ...(known.data?.external ?? [])])]}
          value={scopes}
          onChange={setChosen}
          error={getFieldError(create.error, 'scopes')}
        />
        <ResourceSelect value={only} onChange={setOnly} error={getFieldError(create.error, 'allow_list')} />
        <Button type="submit" loading={create.isPending} disabled={scopes.length === 0}>
          Create token
        </Button>
      </Stack>
    </Form>
  );
}

interface ResourceSelectProps {
  value: string[];
  onChange: (value: string[]) => void;
  error?: string;
}

/** Selects the workspaces and templates that a token can access. */
function ResourceSelect({ value, onChange, error }: ResourceSelectProps) {
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState<Record<string, string>>({}); // labels by value
  const [q] = useDebouncedValue(typed.replace(/[^\w-]/g, ' ').trim(), 250);
  const workspaces = useQuery({
    queryKey: ['token-workspaces', q],
    queryFn: ({ signal }) => api.get('/workspaces', { query: { q, limit: 20 }, signal }),
    placeholderData: keepPreviousData,
  });
  const templates = useQuery({ queryKey: ['token-templates'], queryFn: () => api.get('/templates') });
  const found: [string, string][] = [
    ['workspace:*', 'All workspaces'],
    ...(workspaces.data?.workspaces ?? []).map((workspace): [string, string] => [
      `workspace:${workspace.id}`,
      `${workspace.owner_name}/${workspace.name}`,
    ]),
    ['template:*', 'All templates'],
    ...(templates.data ?? []).map((template): [string, string] => [
      `template:${template.id}`,
      `${template.display_name || template.name} (${template.organization_name})`,
    ]),
  ];
  const labels = { ...chosen, ...Object.fromEntries(found) };
  const items = (type: string) =>
    [...new Set([...found.map(([v]) => v), ...value])]
      .filter((v) => v.startsWith(`${type}:`))
      .map((v) => ({ value: v, label: labels[v] ?? v }));
  return (
    <MultiSelect
      label="Resources"
      searchable
      searchValue={typed}
      onSearchChange={setTyped}
      placeholder={value.length === 0 ? 'All resources' : undefined}
      description="Limits the token to these workspaces and templates."
      data={[
        { group: 'Workspaces', items: items('workspace') },
        { group: 'Templates', items: items('template') },
      ]}
      limit={60}
      value={value}
      onChange={(next) => {
        setChosen(Object.fromEntries(next.map((v) => [v, labels[v] ?? v])));
        onChange(next);
      }}
      error={error}
    />
  );
}
