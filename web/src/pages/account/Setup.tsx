import { Button, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client';
import { me, queries } from '../../api/queries';
import { SignInLayout } from '../../layout/SignInLayout';
import { Form } from '../../components/Form';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';

/** Creates the first user of a new deployment, its owner. */
export default function Setup() {
  const navigate = useNavigate();
  const [form, setForm] = useState({ username: '', name: '', email: '', password: '' });
  const set = (field: keyof typeof form) => (e: { currentTarget: { value: string } }) => {
    const { value } = e.currentTarget;
    setForm((f) => ({ ...f, [field]: value }));
  };
  const create = useMutation({
    mutationFn: async () => {
      await api.post('/users/first', { body: { ...form, trial: false, trial_info: undefined as never } });
      queries.setQueryData(['first-user'], true);
      await api.post('/users/login', { body: { email: form.email, password: form.password } });
      await queries.fetchQuery({ ...me, staleTime: 0 });
    },
    onSuccess: () => navigate({ to: '/workspaces', search: {} }),
  });
  const submit = () => {
    create.mutate();
  };
  return (
    <SignInLayout title="Welcome to Coder" hint="Create the first user, the owner of this deployment.">
      <Form error={create.error} onSubmit={submit}>
        <Stack>
          <ErrorAlert error={create.error} />
          <TextInput
            label="Username"
            required
            autoFocus
            autoComplete="username"
            value={form.username}
            onChange={set('username')}
            error={getFieldError(create.error, 'username')}
          />
          <TextInput
            label="Full name"
            autoComplete="name"
            value={form.name}
            onChange={set('name')}
            error={getFieldError(create.error, 'name')}
          />
          <TextInput
            label="Email"
            type="email"
            required
            autoComplete="email"
            value={form.email}
            onChange={set('email')}
            error={getFieldError(create.error, 'email')}
          />
          <PasswordInput
            label="Password"
            required
            autoComplete="new-password"
            value={form.password}
            onChange={set('password')}
            error={getFieldError(create.error, 'password')}
          />
          <Button type="submit" loading={create.isPending} fullWidth>
            Create user
          </Button>
        </Stack>
      </Form>
    </SignInLayout>
  );
}
