import { Button, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api } from '../../api/client';
import { Form } from '../../components/Form';
import { ErrorAlert } from '../../components/ErrorAlert';

interface Props {
  /** The email of the only user who can sign in; any user when absent. */
  as?: string;
  onDone: () => Promise<unknown>;
  children?: ReactNode;
}

/** Signs in with an email and a password. */
export function PasswordForm({ as, onDone, children }: Props) {
  const [email, setEmail] = useState(as ?? '');
  const [password, setPassword] = useState('');
  const login = useMutation({
    mutationFn: () => api.post('/users/login', { body: { email, password } }),
    onSuccess: onDone,
  });
  const submit = () => {
    login.mutate();
  };
  return (
    <Form error={login.error} onSubmit={submit}>
      <Stack>
        <ErrorAlert error={login.error} />
        <TextInput
          label="Email"
          type="email"
          autoComplete="username"
          required
          readOnly={as !== undefined}
          autoFocus={as === undefined}
          value={email}
          onChange={(e) => setEmail(e.currentTarget.value)}
        />
        <PasswordInput
          label="Password"
          autoComplete="current-password"
          required
          autoFocus={as !== undefined}
          data-autofocus={as !== undefined || undefined}
          value={password}
          onChange={(e) => setPassword(e.currentTarget.value)}
        />
        <Button type="submit" loading={login.isPending} fullWidth>
          Sign in
        </Button>
        {children}
      </Stack>
    </Form>
  );
}
