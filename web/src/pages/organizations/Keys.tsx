import { Badge, Button, Group, Select, Stack, Table, TagsInput, Text, TextInput } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type Schema, api } from '../../api/client';
import { useLive } from '../../api/live';
import { Empty } from '../../parts/Empty';
import { Loading } from '../../parts/Loading';
import { Sheet } from '../../parts/Sheet';
import { Refusal, fieldError } from '../../parts/Refusal';
import { complain, confirmByName, praise, showSecret } from '../../parts/confirm';
import { Moment } from '../../parts/time';
import type { Organization, TabProps } from './data';
import { Tags, parseTags } from './tags';
import { modals } from '../../parts/dialogs';

type Key = Schema<'ProvisionerKey'>;
const hint = 'Give it to the provisioner as CODER_PROVISIONER_DAEMON_KEY.';
const graces = [
  { value: '0', label: 'At once' },
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
// Those that the server itself connects with.
const own = ['built-in', 'user-auth', 'psk'];

/** The keys that provisioners of the organization connect with. */
export default function Keys({ o, may }: TabProps) {
  const client = useQueryClient();
  const list = useQuery({ queryKey: ['keys', o.id], queryFn: () => api.get('/organizations/{organization}/provisionerkeys', { path: { organization: o.id } }) });
  useLive(['provisioner_daemon'], ['keys', o.id]);
  const remove = useMutation({
    mutationFn: (k: Key) => api.delete('/organizations/{organization}/provisionerkeys/{provisionerkey}', { path: { organization: o.id, provisionerkey: k.name } }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['keys', o.id] });
      praise('The key is deleted. Provisioners that use it are not let in any more.');
    },
    onError: complain,
  });
  const keys = list.data?.filter((k) => !own.includes(k.name));
  const ask = (k: Key) =>
    confirmByName({
      title: `Delete ${k.name}?`,
      lost: 'The key. Provisioners that use it are disconnected; what they build now is given to others. To replace it without a gap, rotate it instead.',
      name: k.name,
      verb: 'Delete the key',
      onYes: () => remove.mutate(k),
    });
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm">Whoever has a key can run provisioners, which see the source and the secrets of what they build.</Text>
        <Button leftSection={<IconPlus size={16} />} onClick={() => modals.open({ title: 'New key', children: <Create o={o} /> })}>
          New key
        </Button>
      </Group>
      <Refusal error={list.error} />
      {list.isPending && <Loading />}
      {keys?.length === 0 && <Empty title="There is no key" hint="The server's own provisioners need none." />}
      {keys && keys.length > 0 && (
        <Sheet heads={['Key', 'Tags', 'Last used', 'Ends']} actions={200} minWidth={720}>
          {keys.map((k) => (
            <Table.Tr key={k.id}>
              <Table.Td>
                <Text size="sm" fw={600}>
                  {k.name}
                </Text>
                {k.replaced_at && (
                  <Badge variant="light" color="orange">
                    replaced
                  </Badge>
                )}
              </Table.Td>
              <Table.Td>
                <Tags tags={k.tags} />
              </Table.Td>
              <Table.Td>{k.last_used_at ? <Moment at={k.last_used_at} /> : 'never'}</Table.Td>
              <Table.Td>{k.expires_at ? <Moment at={k.expires_at} /> : 'never'}</Table.Td>
              <Table.Td>
                {!k.replaced_at && (
                  <Group gap={4} wrap="nowrap">
                    {may.rotateKey && (
                      <Button size="compact-sm" variant="subtle" aria-label={`Rotate ${k.name}`} onClick={() => modals.open({ title: `Rotate ${k.name}`, children: <Rotate o={o} k={k} /> })}>
                        Rotate …
                      </Button>
                    )}
                    {may.deleteKey && (
                      <Button size="compact-sm" variant="subtle" color="red" aria-label={`Delete ${k.name}`} onClick={() => ask(k)}>
                        Delete …
                      </Button>
                    )}
                  </Group>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Sheet>
      )}
    </Stack>
  );
}

function Create({ o }: { o: Organization }) {
  const client = useQueryClient();
  const [name, setName] = useState('');
  const [words, setWords] = useState<string[]>([]);
  const [ends, setEnds] = useState('0');
  const tags = parseTags(words);
  const create = useMutation({
    mutationFn: () =>
      api.post('/organizations/{organization}/provisionerkeys', { path: { organization: o.id }, body: { name, tags: tags ?? {}, expires_in_seconds: Number(ends) || undefined } }),
    onSuccess: async ({ key }) => {
      await client.invalidateQueries({ queryKey: ['keys', o.id] });
      modals.closeAll();
      showSecret(`The key ${name}`, key, hint);
    },
  });
  return (
    <form
      onSubmit={(e: FormEvent) => {
        e.preventDefault();
        if (tags) create.mutate();
      }}
    >
      <Stack>
        <Refusal error={create.error} />
        <TextInput data-autofocus label="Name" required value={name} onChange={(e) => setName(e.currentTarget.value)} error={fieldError(create.error, 'name')} />
        <TagsInput
          label="Tags"
          description="Its provisioners take jobs with these tags. None: jobs of any template that asks for none."
          placeholder="name=value, then Enter"
          value={words}
          onChange={setWords}
          error={tags ? fieldError(create.error, 'tags') : 'Write each as name=value, such as zone=mars.'}
        />
        <Select label="Ends" allowDeselect={false} data={lifetimes} value={ends} onChange={(v) => setEnds(v ?? '0')} error={fieldError(create.error, 'expires_in_seconds')} />
        <Button type="submit" loading={create.isPending}>
          Create
        </Button>
      </Stack>
    </form>
  );
}

function Rotate({ o, k }: { o: Organization; k: Key }) {
  const client = useQueryClient();
  const [grace, setGrace] = useState('86400');
  const [ends, setEnds] = useState('0');
  const rotate = useMutation({
    mutationFn: () =>
      api.post('/organizations/{organization}/provisionerkeys/{provisionerkey}/rotate', {
        path: { organization: o.id, provisionerkey: k.name },
        body: { grace_seconds: Number(grace), expires_in_seconds: Number(ends) || undefined },
      }),
    onSuccess: async ({ key }) => {
      await client.invalidateQueries({ queryKey: ['keys', o.id] });
      modals.closeAll();
      showSecret(`The new key ${k.name}`, key, `${hint} The old one ends ${grace === '0' ? 'now' : 'when you said'}.`);
    },
  });
  return (
    <form
      onSubmit={(e: FormEvent) => {
        e.preventDefault();
        rotate.mutate();
      }}
    >
      <Stack>
        <Refusal error={rotate.error} />
        <Text size="sm">There is a new secret of the same name and tags. The old one is let in until it ends, so that provisioners can be moved one by one.</Text>
        <Select data-autofocus label="The old secret ends" allowDeselect={false} data={graces} value={grace} onChange={(v) => setGrace(v ?? '86400')} error={fieldError(rotate.error, 'grace_seconds')} />
        <Select label="The new secret ends" allowDeselect={false} data={lifetimes} value={ends} onChange={(v) => setEnds(v ?? '0')} error={fieldError(rotate.error, 'expires_in_seconds')} />
        <Button type="submit" loading={rotate.isPending}>
          Rotate
        </Button>
      </Stack>
    </form>
  );
}
