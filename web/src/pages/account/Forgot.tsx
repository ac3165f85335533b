import { Anchor, Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { api } from '../../api/client';
import { Gate } from '../../layout/Gate';
import { Refusal, fieldError } from '../../parts/Refusal';
import { useVerdict } from './verdict';

/** A new password for who forgot theirs, by a passcode that comes by e-mail. */
export default function Forgot() {
  const [email, setEmail] = useState('');
  const [asked, setAsked] = useState<'sent' | 'had'>();
  const request = useMutation({
    mutationFn: () => api.post('/users/otp/request', { body: { email } }),
    onSuccess: () => setAsked('sent'),
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    request.mutate();
  };
  return (
    <Gate title="Forgot your password?">
      {!asked && (
        <form onSubmit={submit}>
          <Stack>
            <Text size="sm">Give the e-mail address of your account. A passcode is sent there, with which you set a new password.</Text>
            <Refusal error={request.error} />
            <TextInput label="Email" type="email" autoComplete="username" required autoFocus value={email} onChange={(e) => setEmail(e.currentTarget.value)} />
            <Button type="submit" loading={request.isPending} fullWidth>
              Send a passcode
            </Button>
            <Anchor component="button" type="button" size="sm" onClick={() => setAsked('had')}>
              I have a passcode
            </Anchor>
          </Stack>
        </form>
      )}
      {asked && (
        <>
          {asked === 'sent' && (
            <Text size="sm" role="status">
              If somebody here logs in with {email} and a password, an e-mail with a passcode is on its way. The passcode counts once, for 20 minutes.
            </Text>
          )}
          <NewPassword email={email} onEmail={setEmail} />
          <Anchor component="button" type="button" size="sm" onClick={() => setAsked(undefined)}>
            Send another passcode
          </Anchor>
        </>
      )}
      <Anchor component={Link} to="/login" size="sm" ta="center">
        Back to the login
      </Anchor>
    </Gate>
  );
}

function NewPassword({ email, onEmail }: { email: string; onEmail: (email: string) => void }) {
  const navigate = useNavigate();
  const [passcode, setPasscode] = useState('');
  const [password, setPassword] = useState('');
  const verdict = useVerdict(password);
  const change = useMutation({
    mutationFn: () => api.post('/users/otp/change-password', { body: { email, one_time_passcode: passcode, password } }),
    onSuccess: () => navigate({ to: '/login', search: { message: 'Your new password is set. Log in with it.' } }),
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    change.mutate();
  };
  const error = change.error;
  return (
    <form onSubmit={submit}>
      <Stack>
        <Refusal error={error} />
        <TextInput label="Email" type="email" autoComplete="username" required value={email} onChange={(e) => onEmail(e.currentTarget.value)} error={fieldError(error, 'email')} />
        <TextInput
          label="Passcode"
          description="As the e-mail has it."
          required
          autoFocus
          autoComplete="one-time-code"
          value={passcode}
          onChange={(e) => setPasscode(e.currentTarget.value)}
          error={fieldError(error, 'one_time_passcode')}
        />
        <PasswordInput
          label="New password"
          required
          autoComplete="new-password"
          value={password}
          onChange={(e) => setPassword(e.currentTarget.value)}
          error={fieldError(error, 'password') ?? (verdict && !verdict.valid ? verdict.details : undefined)}
        />
        <Button type="submit" loading={change.isPending} fullWidth>
          Set the password
        </Button>
      </Stack>
    </form>
  );
}
