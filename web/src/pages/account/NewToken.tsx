import { Button, MultiSelect, Select, Stack, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type Schema, api } from '../../api/client';
import { Refusal, fieldError } from '../../parts/Refusal';
import { showSecret } from '../../parts/confirm';
import { modals } from '../../parts/dialogs';
import { lifetimes } from './lifetimes';

const path = { user: 'me' };

/** What a token is limited to, of "workspace:<id>". */
function target(choice: string): Schema<'APIAllowListTarget'> {
  const [type = '', id = ''] = choice.split(':');
  return { type: type as Schema<'RBACResource'>, id };
}

/** The form for a new token; its secret is shown once. */
export function NewToken() {
  const client = useQueryClient();
  const config = useQuery({ queryKey: ['token-config'], queryFn: () => api.get('/users/{user}/keys/tokens/tokenconfig', { path }) });
  const known = useQuery({ queryKey: ['scopes'], queryFn: () => api.get('/auth/scopes') });
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<string[]>(['coder:all']);
  const [days, setDays] = useState('30');
  const [only, setOnly] = useState<string[]>([]);
  const choices = lifetimes(config.data?.max_token_lifetime);
  const lives = choices.some((c) => c.value === days) ? days : (choices.at(-1)?.value ?? days);
  const create = useMutation({
    mutationFn: () =>
      api.post('/users/{user}/keys/tokens', {
        path,
        body: { token_name: name, scopes: scopes as Schema<'APIKeyScope'>[], allow_list: only.map(target), lifetime: Number(lives) * 86_400_000_000_000 },
      }),
    onSuccess: async ({ key }) => {
      await client.invalidateQueries({ queryKey: ['tokens'] });
      modals.closeAll();
      showSecret(`The token ${name}`, key, 'Set it as CODER_SESSION_TOKEN, or give it to the program that needs it.');
    },
  });
  return (
    <form
      onSubmit={(e: FormEvent) => {
        e.preventDefault();
        create.mutate();
      }}
    >
      <Stack>
        <Refusal error={create.error} />
        <TextInput data-autofocus label="Name" required value={name} onChange={(e) => setName(e.currentTarget.value)} error={fieldError(create.error, 'token_name')} />
        <Select
          label="Lifetime"
          allowDeselect={false}
          value={lives}
          onChange={(v) => setDays(v ?? '30')}
          data={choices}
          error={fieldError(create.error, 'lifetime')}
        />
        <MultiSelect
          label="Scopes"
          required
          searchable
          description="What the token may be used for."
          data={[...new Set(['coder:all', ...(known.data?.external ?? [])])]}
          value={scopes}
          onChange={setScopes}
          error={fieldError(create.error, 'scopes')}
        />
        <Only value={only} onChange={setOnly} error={fieldError(create.error, 'allow_list')} />
        <Button type="submit" loading={create.isPending} disabled={scopes.length === 0}>
          Create
        </Button>
      </Stack>
    </form>
  );
}

interface OnlyProps {
  value: string[];
  onChange: (value: string[]) => void;
  error?: string;
}

/** Chooses workspaces and templates that a token is limited to. */
function Only({ value, onChange, error }: OnlyProps) {
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState<Record<string, string>>({}); // their labels outlive the search that found them
  const [q] = useDebouncedValue(typed.replace(/[^\w-]/g, ' ').trim(), 250);
  const workspaces = useQuery({
    queryKey: ['token-workspaces', q],
    queryFn: ({ signal }) => api.get('/workspaces', { query: { q, limit: 20 }, signal }),
    placeholderData: keepPreviousData,
  });
  const templates = useQuery({ queryKey: ['token-templates'], queryFn: () => api.get('/templates') });
  const found: [string, string][] = [
    ['workspace:*', 'Every workspace'],
    ...(workspaces.data?.workspaces ?? []).map((w): [string, string] => [`workspace:${w.id}`, `${w.owner_name}/${w.name}`]),
    ['template:*', 'Every template'],
    ...(templates.data ?? []).map((t): [string, string] => [`template:${t.id}`, `${t.display_name || t.name} (${t.organization_name})`]),
  ];
  const labels = { ...chosen, ...Object.fromEntries(found) };
  const items = (type: string) =>
    [...new Set([...found.map(([v]) => v), ...value])].filter((v) => v.startsWith(`${type}:`)).map((v) => ({ value: v, label: labels[v] ?? v }));
  return (
    <MultiSelect
      label="Only for"
      searchable
      searchValue={typed}
      onSearchChange={setTyped}
      placeholder={value.length === 0 ? 'Everything' : undefined}
      description="Workspaces and templates that the token is limited to. It sees nothing else."
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
