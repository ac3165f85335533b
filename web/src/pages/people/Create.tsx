import { Button, MultiSelect, PasswordInput, Select, Stack, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type Schema, api } from '../../api/client';
import { authMethods, organizations } from '../../api/queries';
import { praise } from '../../parts/confirm';
import { Refusal, fieldError } from '../../parts/Refusal';
import { modals } from '../../parts/dialogs';

/** The form for a new user. */
export function Create() {
  const client = useQueryClient();
  const { data: methods } = useQuery(authMethods);
  const { data: orgs = [] } = useQuery(organizations);
  const [form, setForm] = useState({ username: '', name: '', email: '', password: '' });
  const [way, setWay] = useState<Schema<'LoginType'>>('password');
  const [chosen, setChosen] = useState<string[] | undefined>();
  const memberOf = chosen ?? orgs.filter((o) => o.is_default).map((o) => o.id);
  const set = (field: keyof typeof form) => (e: { currentTarget: { value: string } }) => {
    const { value } = e.currentTarget;
    setForm((f) => ({ ...f, [field]: value }));
  };
  const create = useMutation({
    mutationFn: () =>
      api.post('/users', {
        body: { ...form, password: way === 'password' ? form.password : '', login_type: way, organization_ids: memberOf, user_status: null as never },
      }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['users'] });
      praise(`${form.username} can log in now`);
      modals.closeAll();
    },
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    create.mutate();
  };
  const error = create.error;
  return (
    <form onSubmit={submit}>
      <Stack>
        <Refusal error={error} />
        <TextInput data-autofocus label="Username" required autoComplete="off" value={form.username} onChange={set('username')} error={fieldError(error, 'username')} />
        <TextInput label="Full name" autoComplete="off" value={form.name} onChange={set('name')} error={fieldError(error, 'name')} />
        <TextInput label="Email" type="email" required autoComplete="off" value={form.email} onChange={set('email')} error={fieldError(error, 'email')} />
        <Select
          label="Logs in with"
          allowDeselect={false}
          value={way}
          onChange={(v) => setWay((v ?? 'password') as Schema<'LoginType'>)}
          data={[
            { value: 'password', label: 'A password' },
            { value: 'oidc', label: methods?.oidc.signInText || 'OpenID Connect', disabled: !methods?.oidc.enabled },
            { value: 'github', label: 'GitHub', disabled: !methods?.github.enabled },
            { value: 'none', label: 'Nothing: tokens only, for machines' },
          ]}
        />
        {way === 'password' && (
          <PasswordInput label="Password" required autoComplete="new-password" value={form.password} onChange={set('password')} error={fieldError(error, 'password')} />
        )}
        {orgs.length > 1 && (
          <MultiSelect
            label="Organizations"
            data={orgs.map((o) => ({ value: o.id, label: o.display_name || o.name }))}
            value={memberOf}
            onChange={setChosen}
            error={fieldError(error, 'organization_ids')}
          />
        )}
        <Button type="submit" loading={create.isPending}>
          Create
        </Button>
      </Stack>
    </form>
  );
}
