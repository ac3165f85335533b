import { Alert, Button, Stack, Text } from '@mantine/core';
import { IconLock } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Permission, usePermission } from '../api/permissions';
import { CrashAlert } from './CrashAlert';
import { Loading } from './Loading';
import { Page } from './Page';

/** States which role a page needs, with a way back. */
export function Refusal({ needs }: { needs: string }) {
  return (
    <Alert color="yellow" variant="light" icon={<IconLock />} title="You do not have access to this page" role="alert">
      <Stack gap="sm" align="flex-start">
        <Text size="sm">It needs {needs}. Ask an admin of this deployment if you need it.</Text>
        <Button component={Link} to="/workspaces" size="xs" variant="default">
          Go to workspaces
        </Button>
      </Stack>
    </Alert>
  );
}

interface Props {
  permission: Permission;
  /** The title of the page. */
  title: string;
  /** The roles that have the permission, such as "the role Auditor". */
  needs: string;
  children: ReactNode;
}

/** A page for users with a permission. Other users see which role it needs. */
export function Restricted({ permission, title, needs, children }: Props) {
  const { granted, known, error, retry } = usePermission(permission);
  if (granted) return children;
  return (
    <Page title={title}>
      {error ? <CrashAlert error={error} onRetry={retry} /> : known ? <Refusal needs={needs} /> : <Loading />}
    </Page>
  );
}
