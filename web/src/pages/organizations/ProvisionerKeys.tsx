import { Badge, Button, Group, Select, Stack, Table, TagsInput, Text, TextInput } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { useLiveUpdates } from '../../api/live';
import { Form } from '../../components/Form';
import { EmptyState } from '../../components/EmptyState';
import { Loading } from '../../components/Loading';
import { DataTable } from '../../components/DataTable';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';
import { notifyError, confirmByName, notifySuccess, showSecret } from '../../components/confirm';
import { RelativeTime } from '../../components/time';
import type { Organization, TabProps } from './queries';
import { TagBadges, parseTags } from './tags';
import { modals } from '../../components/dialogs';

type Key = Schema<'ProvisionerKey'>;
const hint = 'Set it as CODER_PROVISIONER_DAEMON_KEY for the provisioner.';
const gracePeriods = [
  { value: '0', label: 'Immediately' },
  { value: '3600', label: 'In an hour' },
  { value: '86400', label: 'In a day' },
  { value: '604800', label: 'In a week' },
];
const lifetimes = [
  { value: '0', label: 'Never' },
  { value: '2592000', label: 'In 30 days' },
  { value: '7776000', label: 'In 90 days' },
  { value: '31536000', label: 'In a year' },
];
// Reserved names of the keys that the server creates.
const reservedNames = ['built-in', 'user-auth', 'psk'];

/** The keys that authenticate provisioners of the organization. */
export default function ProvisionerKeys({ organization, may }: TabProps) {
  const client = useQueryClient();
  const list = useQuery({
    queryKey: ['keys', organization.id],
    queryFn: () =>
      api.get('/organizations/{organization}/provisionerkeys', { path: { organization: organization.id } }),
  });
  useLiveUpdates(['provisioner_daemon'], ['keys', organization.id]);
  const remove = useMutation({
    mutationFn: (provisionerKey: Key) =>
      api.delete('/organizations/{organization}/provisionerkeys/{provisionerkey}', {
        path: { organization: organization.id, provisionerkey: provisionerKey.name },
      }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['keys', organization.id] });
      notifySuccess('Provisioner key deleted');
    },
    onError: notifyError,
  });
  const keys = list.data?.filter((provisionerKey) => !reservedNames.includes(provisionerKey.name));
  const ask = (provisionerKey: Key) =>
    confirmByName({
      title: `Delete ${provisionerKey.name}?`,
      warning:
        'Disconnects provisioners that use this key. Their running jobs are retried by others. To replace the key without interruption, rotate it.',
      name: provisionerKey.name,
      action: 'Delete key',
      onConfirm: () => remove.mutate(provisionerKey),
    });
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm">
          A key authenticates provisioners. Keep keys secret: provisioners can read template sources and their secrets.
        </Text>
        <Button
          leftSection={<IconPlus size={16} />}
          onClick={() =>
            modals.open({ title: 'Create provisioner key', children: <CreateKey organization={organization} /> })
          }
        >
          Create key
        </Button>
      </Group>
      <ErrorAlert error={list.error} />
      {list.isPending && <Loading />}
      {keys?.length === 0 && <EmptyState title="No provisioner keys" hint="Built-in provisioners do not need a key." />}
      {keys && keys.length > 0 && (
        <DataTable headers={['Key', 'Tags', 'Last used', 'Expires']} actions={200} minWidth={720}>
          {keys.map((provisionerKey) => (
            <Table.Tr key={provisionerKey.id}>
              <Table.Td>
                <Text size="sm" fw={600}>
                  {provisionerKey.name}
                </Text>
                {provisionerKey.replaced_at && <Badge color="orange">Rotated</Badge>}
              </Table.Td>
              <Table.Td>
                <TagBadges tags={provisionerKey.tags} />
              </Table.Td>
              <Table.Td>
                {provisionerKey.last_used_at ? <RelativeTime at={provisionerKey.last_used_at} /> : 'Never'}
              </Table.Td>
              <Table.Td>
                {provisionerKey.expires_at ? <RelativeTime at={provisionerKey.expires_at} /> : 'Never'}
              </Table.Td>
              <Table.Td>
                {!provisionerKey.replaced_at && (
                  <Group gap={4} wrap="nowrap">
                    {may.rotateKey && (
                      <Button
                        size="compact-sm"
                        variant="subtle"
                        aria-label={`Rotate ${provisionerKey.name}`}
                        onClick={() =>
                          modals.open({
                            title: `Rotate ${provisionerKey.name}`,
                            children: <RotateKey organization={organization} provisionerKey={provisionerKey} />,
                          })
                        }
                      >
                        Rotate…
                      </Button>
                    )}
                    {may.deleteKey && (
                      <Button
                        size="compact-sm"
                        variant="subtle"
                        color="red"
                        aria-label={`Delete ${provisionerKey.name}`}
                        onClick={() => ask(provisionerKey)}
                      >
                        Delete…
                      </Button>
                    )}
                  </Group>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      )}
    </Stack>
  );
}

function CreateKey({ organization }: { organization: Organization }) {
  const client = useQueryClient();
  const [name, setName] = useState('');
  const [words, setWords] = useState<string[]>([]);
  const [ends, setEnds] = useState('0');
  const tags = parseTags(words);
  const create = useMutation({
    mutationFn: () =>
      api.post('/organizations/{organization}/provisionerkeys', {
        path: { organization: organization.id },
        body: { name, tags: tags ?? {}, expires_in_seconds: Number(ends) || undefined },
      }),
    onSuccess: async ({ key }) => {
      await client.invalidateQueries({ queryKey: ['keys', organization.id] });
      modals.closeAll();
      showSecret(`Provisioner key ${name}`, key, hint);
    },
  });
  return (
    <Form
      error={create.error}
      onSubmit={() => {
        if (!tags) return false;
        create.mutate();
      }}
    >
      <Stack>
        <ErrorAlert error={create.error} />
        <TextInput
          data-autofocus
          label="Name"
          required
          value={name}
          onChange={(e) => setName(e.currentTarget.value)}
          error={getFieldError(create.error, 'name')}
        />
        <TagsInput
          label="Tags"
          description="Provisioners with this key run jobs that match these tags. Without tags, they run untagged jobs."
          placeholder="name=value"
          value={words}
          onChange={setWords}
          error={tags ? getFieldError(create.error, 'tags') : 'Enter tags as name=value.'}
        />
        <Select
          label="Expiration"
          allowDeselect={false}
          data={lifetimes}
          value={ends}
          onChange={(v) => setEnds(v ?? '0')}
          error={getFieldError(create.error, 'expires_in_seconds')}
        />
        <Button type="submit" loading={create.isPending}>
          Create key
        </Button>
      </Stack>
    </Form>
  );
}

function RotateKey({ organization, provisionerKey }: { organization: Organization; provisionerKey: Key }) {
  const client = useQueryClient();
  const [grace, setGrace] = useState('86400');
  const [ends, setEnds] = useState('0');
  const rotate = useMutation({
    mutationFn: () =>
      api.post('/organizations/{organization}/provisionerkeys/{provisionerkey}/rotate', {
        path: { organization: organization.id, provisionerkey: provisionerKey.name },
        body: { grace_seconds: Number(grace), expires_in_seconds: Number(ends) || undefined },
      }),
    onSuccess: async ({ key }) => {
      await client.invalidateQueries({ queryKey: ['keys', organization.id] });
      modals.closeAll();
      showSecret(
        `Rotated key ${provisionerKey.name}`,
        key,
        `${hint} The old secret ${grace === '0' ? 'is no longer valid' : 'stays valid for the selected time'}.`,
      );
    },
  });
  return (
    <Form
      error={rotate.error}
      onSubmit={() => {
        rotate.mutate();
      }}
    >
      <Stack>
        <ErrorAlert error={rotate.error} />
        <Text size="sm">
          Creates a new secret with the same name and tags. The old secret stays valid until it expires, so that you can
          update provisioners one at a time.
        </Text>
        <Select
          data-autofocus
          label="Old secret expires"
          allowDeselect={false}
          data={gracePeriods}
          value={grace}
          onChange={(v) => setGrace(v ?? '86400')}
          error={getFieldError(rotate.error, 'grace_seconds')}
        />
        <Select
          label="New secret expires"
          allowDeselect={false}
          data={lifetimes}
          value={ends}
          onChange={(v) => setEnds(v ?? '0')}
          error={getFieldError(rotate.error, 'expires_in_seconds')}
        />
        <Button type="submit" loading={rotate.isPending}>
          Rotate
        </Button>
      </Stack>
    </Form>
  );
}
