import { Anchor, Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client';
import { SignInLayout } from '../../layout/SignInLayout';
import { Form } from '../../components/Form';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';
import { usePasswordValidation } from './passwordValidation';

/** Resets a forgotten password with a one-time passcode sent by email. */
export default function ResetPassword() {
  const [email, setEmail] = useState('');
  const [asked, setAsked] = useState<'sent' | 'had'>();
  const request = useMutation({
    mutationFn: () => api.post('/users/otp/request', { body: { email } }),
    onSuccess: () => setAsked('sent'),
  });
  const submit = () => {
    request.mutate();
  };
  return (
    <SignInLayout title="Reset your password">
      {!asked && (
        <Form error={request.error} onSubmit={submit}>
          <Stack>
            <Text size="sm">Enter the email of your account to receive a one-time passcode.</Text>
            <ErrorAlert error={request.error} />
            <TextInput
              label="Email"
              type="email"
              autoComplete="username"
              required
              autoFocus
              value={email}
              onChange={(e) => setEmail(e.currentTarget.value)}
            />
            <Button type="submit" loading={request.isPending} fullWidth>
              Send passcode
            </Button>
            <Anchor component="button" type="button" size="sm" onClick={() => setAsked('had')}>
              I have a passcode
            </Anchor>
          </Stack>
        </Form>
      )}
      {asked && (
        <>
          {asked === 'sent' && (
            <Text size="sm" role="status">
              If an account with a password exists for {email}, a passcode was sent. It can be used once and expires
              after 20 minutes.
            </Text>
          )}
          <NewPasswordForm email={email} onEmail={setEmail} />
          <Anchor component="button" type="button" size="sm" onClick={() => setAsked(undefined)}>
            Send a new passcode
          </Anchor>
        </>
      )}
      <Anchor component={Link} to="/login" size="sm" ta="center">
        Back to sign-in
      </Anchor>
    </SignInLayout>
  );
}

function NewPasswordForm({ email, onEmail }: { email: string; onEmail: (email: string) => void }) {
  const navigate = useNavigate();
  const [passcode, setPasscode] = useState('');
  const [password, setPassword] = useState('');
  const verdict = usePasswordValidation(password);
  const change = useMutation({
    mutationFn: () =>
      api.post('/users/otp/change-password', { body: { email, one_time_passcode: passcode, password } }),
    onSuccess: () =>
      navigate({ to: '/login', search: { message: 'Password changed. Sign in with the new password.' } }),
  });
  const submit = () => {
    change.mutate();
  };
  const error = change.error;
  return (
    <Form error={error} onSubmit={submit}>
      <Stack>
        <ErrorAlert error={error} />
        <TextInput
          label="Email"
          type="email"
          autoComplete="username"
          required
          value={email}
          onChange={(e) => onEmail(e.currentTarget.value)}
          error={getFieldError(error, 'email')}
        />
        <TextInput
          label="Passcode"
          description="From the email."
          required
          autoFocus
          autoComplete="one-time-code"
          value={passcode}
          onChange={(e) => setPasscode(e.currentTarget.value)}
          error={getFieldError(error, 'one_time_passcode')}
        />
        <PasswordInput
          label="New password"
          required
          autoComplete="new-password"
          value={password}
          onChange={(e) => setPassword(e.currentTarget.value)}
          error={getFieldError(error, 'password') ?? (verdict && !verdict.valid ? verdict.details : undefined)}
        />
        <Button type="submit" loading={change.isPending} fullWidth>
          Set password
        </Button>
      </Stack>
    </Form>
  );
}
