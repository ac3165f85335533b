import { Button, MultiSelect, PasswordInput, Select, Stack, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { authMethods, organizations } from '../../api/queries';
import { Form } from '../../components/Form';
import { notifySuccess } from '../../components/confirm';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';
import { modals } from '../../components/dialogs';

/** The form for a new user. */
export function CreateUser() {
  const client = useQueryClient();
  const { data: methods } = useQuery(authMethods);
  const { data: orgs = [] } = useQuery(organizations);
  const [form, setForm] = useState({ username: '', name: '', email: '', password: '' });
  const [loginType, setWay] = useState<Schema<'LoginType'> | 'service'>('password');
  const [days, setDays] = useState('');
  const service = loginType === 'service';
  const [chosen, setChosen] = useState<string[] | undefined>();
  const memberOf =
    chosen ?? orgs.filter((organization) => organization.is_default).map((organization) => organization.id);
  const set = (field: keyof typeof form) => (e: { currentTarget: { value: string } }) => {
    const { value } = e.currentTarget;
    setForm((f) => ({ ...f, [field]: value }));
  };
  const create = useMutation({
    mutationFn: () =>
      api.post('/users', {
        body: {
          ...form,
          email: service ? '' : form.email,
          password: loginType === 'password' ? form.password : '',
          login_type: service ? 'none' : loginType,
          service_account: service,
          ...(service && days
            ? {
                service_account_settings: {
                  expires_at: new Date(Date.now() + Number(days) * 86_400_000).toISOString(),
                },
              }
            : {}),
          organization_ids: memberOf,
          user_status: null as never,
        },
      }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['users'] });
      notifySuccess(`User ${form.username} created`);
      modals.closeAll();
    },
  });
  const submit = () => {
    create.mutate();
  };
  const error = create.error;
  return (
    <Form error={error} onSubmit={submit}>
      <Stack>
        <ErrorAlert error={error} />
        <TextInput
          data-autofocus
          label="Username"
          required
          autoComplete="off"
          value={form.username}
          onChange={set('username')}
          error={getFieldError(error, 'username')}
        />
        <TextInput
          label="Full name"
          autoComplete="off"
          value={form.name}
          onChange={set('name')}
          error={getFieldError(error, 'name')}
        />
        {!service && (
          <TextInput
            label="Email"
            type="email"
            required
            autoComplete="off"
            value={form.email}
            onChange={set('email')}
            error={getFieldError(error, 'email')}
          />
        )}
        <Select
          label="Login type"
          allowDeselect={false}
          value={loginType}
          onChange={(v) => setWay((v ?? 'password') as Schema<'LoginType'> | 'service')}
          data={[
            { value: 'password', label: 'Password' },
            { value: 'oidc', label: methods?.oidc.signInText || 'OpenID Connect', disabled: !methods?.oidc.enabled },
            { value: 'github', label: 'GitHub', disabled: !methods?.github.enabled },
            { value: 'none', label: 'None: API tokens only' },
            { value: 'service', label: 'Service account: API tokens only, no email' },
          ]}
        />
        {service && (
          <Select
            label="Expires"
            description="No token of the account is valid later. You are responsible for the account."
            allowDeselect={false}
            value={days}
            onChange={(v) => setDays(v ?? '')}
            data={[
              { value: '', label: 'Never' },
              { value: '30', label: 'In 30 days' },
              { value: '90', label: 'In 90 days' },
              { value: '365', label: 'In 365 days' },
            ]}
            error={getFieldError(error, 'expires_at')}
          />
        )}
        {loginType === 'password' && (
          <PasswordInput
            label="Password"
            required
            autoComplete="new-password"
            value={form.password}
            onChange={set('password')}
            error={getFieldError(error, 'password')}
          />
        )}
        {orgs.length > 1 && (
          <MultiSelect
            label="Organizations"
            data={orgs.map((organization) => ({
              value: organization.id,
              label: organization.display_name || organization.name,
            }))}
            value={memberOf}
            onChange={setChosen}
            error={getFieldError(error, 'organization_ids')}
          />
        )}
        <Button type="submit" loading={create.isPending}>
          Create user
        </Button>
      </Stack>
    </Form>
  );
}
