import { Button, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { api } from '../../api/client';
import { Refusal } from '../../parts/Refusal';

interface Props {
  /** Who logs in; anybody, without it. */
  as?: string;
  onDone: () => Promise<unknown>;
  children?: ReactNode;
}

/** Logging in with an address and a password. */
export function PasswordForm({ as, onDone, children }: Props) {
  const [email, setEmail] = useState(as ?? '');
  const [password, setPassword] = useState('');
  const login = useMutation({ mutationFn: () => api.post('/users/login', { body: { email, password } }), onSuccess: onDone });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    login.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Refusal error={login.error} />
        <TextInput label="Email" type="email" autoComplete="username" required readOnly={as !== undefined} autoFocus={as === undefined} value={email} onChange={(e) => setEmail(e.currentTarget.value)} />
        <PasswordInput label="Password" autoComplete="current-password" required autoFocus={as !== undefined} data-autofocus={as !== undefined || undefined} value={password} onChange={(e) => setPassword(e.currentTarget.value)} />
        <Button type="submit" loading={login.isPending} fullWidth>
          Log in
        </Button>
        {children}
      </Stack>
    </form>
  );
}
