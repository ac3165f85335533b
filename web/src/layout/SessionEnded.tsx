import { Anchor, Button, Center, Modal, Stack, Text } from '@mantine/core';
import { useWindowEvent } from '@mantine/hooks';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { authMethods, refreshSession, me, queries } from '../api/queries';
import { notifyTabs } from '../api/session';
import { PasswordForm } from '../pages/account/PasswordForm';
import { ErrorAlert } from '../components/ErrorAlert';

/** Checks whether the session is valid again, and notifies the other tabs. */
async function checkSession(): Promise<void> {
  await queries.fetchQuery({ ...me, staleTime: 0 });
  notifyTabs();
}

/** Covers a page whose session ended. The page below keeps its unsaved input. */
export default function SessionEnded() {
  const { data: self } = useQuery(me);
  const { data: methods } = useQuery(authMethods);
  const [early, setEarly] = useState(false);
  const again = useMutation({ mutationFn: checkSession, onSuccess: () => setEarly(true) });
  useWindowEvent('focus', refreshSession);
  const password = self?.login_type === 'password' && methods?.password.enabled !== false;
  return (
    <Modal
      opened
      fullScreen
      zIndex={1000}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      onClose={() => undefined}
      title="Your session has ended"
      transitionProps={{ duration: 0 }}
    >
      <Center mih="80vh">
        <Stack maw={420} w="100%">
          <Text size="sm" ta="center">
            Sign in again as {self?.username} to continue. Unsaved changes are kept.
          </Text>
          {password && <PasswordForm as={self.email} onDone={checkSession} />}
          {!password && (
            <>
              <Button component="a" href="/login?message=Your+session+has+ended." target="_blank">
                Sign in in a new tab
              </Button>
              <ErrorAlert error={again.error} />
              {early && (
                <Text size="sm" role="status">
                  You are not signed in yet.
                </Text>
              )}
              <Button variant="default" loading={again.isPending} onClick={() => again.mutate()}>
                Continue
              </Button>
            </>
          )}
          <Anchor href="/login" size="sm" ta="center">
            Sign in as a different user
          </Anchor>
        </Stack>
      </Center>
    </Modal>
  );
}
