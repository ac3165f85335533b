import { Button, MultiSelect, Stack, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';
import { Form } from '../../components/Form';
import { Loading } from '../../components/Loading';
import { notifySuccess } from '../../components/confirm';
import { modals } from '../../components/dialogs';

/** The form for the owner, the expiry and the scopes of a service account. */
export function ServiceAccountLimits({ username }: { username: string }) {
  const path = { user: username };
  const { data, error } = useQuery({
    queryKey: ['service-account', username],
    queryFn: () => api.get('/users/{user}/service-account', { path }),
  });
  if (error) return <ErrorAlert error={error} />;
  if (!data) return <Loading />;
  return <LimitsForm now={data} />;
}

function LimitsForm({ now }: { now: Schema<'ServiceAccount'> }) {
  const client = useQueryClient();
  const known = useQuery({ queryKey: ['scopes'], queryFn: () => api.get('/auth/scopes') });
  const [owner, setOwner] = useState(now.owner_username);
  const [day, setDay] = useState(now.expires_at?.slice(0, 10) ?? '');
  const [scopes, setScopes] = useState<string[]>(now.scopes);
  const save = useMutation({
    mutationFn: async () => {
      const unchanged = now.expires_at?.slice(0, 10) === day;
      const expires = unchanged ? now.expires_at : `${day}T00:00:00Z`;
      const user = owner ? await api.get('/users/{user}', { path: { user: owner } }) : undefined;
      return api.put('/users/{user}/service-account', {
        path: { user: now.username },
        body: {
          scopes: scopes as Schema<'APIKeyScope'>[],
          ...(user ? { owner_id: user.id } : {}),
          ...(day && expires ? { expires_at: expires } : {}),
        },
      });
    },
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['service-account', now.username] });
      await client.invalidateQueries({ queryKey: ['tokens'] });
      notifySuccess(`Limits of ${now.username} saved`);
      modals.closeAll();
    },
  });
  return (
    <Form
      error={save.error}
      onSubmit={() => {
        save.mutate();
      }}
    >
      <Stack>
        <ErrorAlert error={save.error} />
        <TextInput
          data-autofocus
          label="Owner"
          description="Username of the user who is responsible. The owner can create and revoke tokens."
          autoComplete="off"
          value={owner}
          onChange={(e) => setOwner(e.currentTarget.value.trim())}
          error={getFieldError(save.error, 'owner_id')}
        />
        <TextInput
          label="Expires"
          description="No token is valid after the start of this day in UTC. Empty means never."
          type="date"
          value={day}
          onChange={(e) => setDay(e.currentTarget.value)}
          error={getFieldError(save.error, 'expires_at')}
        />
        <MultiSelect
          label="Scopes"
          description="Tokens can have only these scopes, and tokens with others are revoked. Empty means all."
          searchable
          data={[...new Set(['coder:all', ...(known.data?.external ?? []), ...scopes])]}
          value={scopes}
          onChange={setScopes}
          error={getFieldError(save.error, 'scopes')}
        />
        <Button type="submit" loading={save.isPending}>
          Save
        </Button>
      </Stack>
    </Form>
  );
}
