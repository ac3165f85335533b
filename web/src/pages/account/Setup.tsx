import { Button, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { api } from '../../api/client';
import { me, queries } from '../../api/queries';
import { Gate } from '../../layout/Gate';
import { Refusal, fieldError } from '../../parts/Refusal';

/** Making the first user of a new deployment, who is its owner. */
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
  const submit = (e: FormEvent) => {
    e.preventDefault();
    create.mutate();
  };
  return (
    <Gate title="Welcome to Coder" hint="Make the first account. It is the owner of this deployment and may do everything.">
      <form onSubmit={submit}>
        <Stack>
          <Refusal error={create.error} />
          <TextInput label="Username" required autoFocus autoComplete="username" value={form.username} onChange={set('username')} error={fieldError(create.error, 'username')} />
          <TextInput label="Full name" autoComplete="name" value={form.name} onChange={set('name')} error={fieldError(create.error, 'name')} />
          <TextInput label="Email" type="email" required autoComplete="email" value={form.email} onChange={set('email')} error={fieldError(create.error, 'email')} />
          <PasswordInput label="Password" required autoComplete="new-password" value={form.password} onChange={set('password')} error={fieldError(create.error, 'password')} />
          <Button type="submit" loading={create.isPending} fullWidth>
            Create account
          </Button>
        </Stack>
      </form>
    </Gate>
  );
}
