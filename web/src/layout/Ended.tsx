import { Anchor, Button, Center, Modal, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { authMethods, lookAgain, me, queries } from '../api/queries';
import { tellTabs } from '../api/session';
import { PasswordForm } from '../pages/account/PasswordForm';
import { Refusal } from '../parts/Refusal';

/** Looks whether the session goes on. */
async function look(): Promise<void> {
  await queries.fetchQuery({ ...me, staleTime: 0 });
  tellTabs();
}

/** Stands before a page whose session has ended, which keeps what was typed meanwhile. */
export default function Ended() {
  const { data: self } = useQuery(me);
  const { data: methods } = useQuery(authMethods);
  const [early, setEarly] = useState(false);
  const again = useMutation({ mutationFn: look, onSuccess: () => setEarly(true) }); // this is gone by then, if it does
  useEffect(() => {
    window.addEventListener('focus', lookAgain);
    return () => window.removeEventListener('focus', lookAgain);
  }, []);
  const password = self?.login_type === 'password' && methods?.password.enabled !== false;
  return (
    <Modal opened fullScreen zIndex={1000} withCloseButton={false} closeOnEscape={false} closeOnClickOutside={false} onClose={() => undefined} title="Your session has ended" transitionProps={{ duration: 0 }}>
      <Center mih="80vh">
        <Stack maw={420} w="100%">
          <Text size="sm" ta="center">
            Log in again as {self?.username}, and this page goes on as you left it.
          </Text>
          {password && <PasswordForm as={self.email} onDone={look} />}
          {!password && (
            <>
              <Button component="a" href="/login?message=Your+session+has+ended." target="_blank">
                Log in in another tab
              </Button>
              <Refusal error={again.error} />
              {early && (
                <Text size="sm" role="status">
                  Nobody is logged in yet.
                </Text>
              )}
              <Button variant="default" loading={again.isPending} onClick={() => again.mutate()}>
                I have logged in
              </Button>
            </>
          )}
          <Anchor href="/login" size="sm" ta="center">
            Leave this page, and log in as somebody else
          </Anchor>
        </Stack>
      </Center>
    </Modal>
  );
}
