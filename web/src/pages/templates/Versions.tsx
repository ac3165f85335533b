import { Anchor, Badge, Button, Group, Menu, Table, Text } from '@mantine/core';
import { IconDotsVertical } from '@tabler/icons-react';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { api } from '../../api/client';
import { useLive } from '../../api/live';
import { Loading } from '../../parts/Loading';
import { Pages } from '../../parts/Pages';
import { Refusal } from '../../parts/Refusal';
import { complain, praise } from '../../parts/confirm';
import { Sheet } from '../../parts/Sheet';
import { Moment } from '../../parts/time';
import { type Template, type Version, useTemplateRights, versionsQuery } from './data';
import { modals } from '../../parts/dialogs';

const size = 25;
const colors: Record<string, string> = { succeeded: 'green', failed: 'red', canceled: 'orange', canceling: 'orange', running: 'blue', pending: 'yellow' };

/** The state of a version's import. */
export function ImportBadge({ v }: { v: Version }) {
  return (
    <Badge variant="light" color={colors[v.job.status] ?? 'gray'}>
      {v.job.status === 'succeeded' ? 'ready' : v.job.status}
    </Badge>
  );
}

/** The versions of a template, the newest first. */
export default function Versions({ t }: { t: Template }) {
  const { page = 1 } = useSearch({ from: '/shell/templates/$organization/$template' });
  const list = useQuery({ ...versionsQuery(t.id, page, size), placeholderData: keepPreviousData });
  const may = useTemplateRights(t);
  useLive([`jobs/${t.organization_id}`], ['versions', t.id]);
  if (list.error) return <Refusal error={list.error} />;
  if (!list.data) return <Loading />;
  return (
    <>
      <Sheet heads={['Version', 'What changed', 'By', 'When']} actions={60} minWidth={620}>
        {list.data.map((v) => (
          <Table.Tr key={v.id}>
            <Table.Td>
              <Group gap="xs">
                <Anchor component={Link} to={`/templates/${t.organization_name}/${t.name}/versions/${v.name}`} fw={600}>
                  {v.name}
                </Anchor>
                {v.id === t.active_version_id ? <Badge>active</Badge> : <ImportBadge v={v} />}
              </Group>
            </Table.Td>
            <Table.Td maw={420}>
              <Text size="sm" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
                {v.message}
              </Text>
            </Table.Td>
            <Table.Td>{v.created_by.username}</Table.Td>
            <Table.Td>
              <Moment at={v.created_at} />
            </Table.Td>
            <Table.Td>{may.update && <VersionMenu t={t} v={v} />}</Table.Td>
          </Table.Tr>
        ))}
      </Sheet>
      <Pages rows={list.data.length} size={size} page={page} of="versions" />
    </>
  );
}

/** Makes a version the one that new workspaces use. */
export function usePublish(t: Template | undefined) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (v: { id: string; name: string }) => api.patch('/templates/{template}/versions', { path: { template: t?.id ?? '' }, body: { id: v.id } }),
    onSuccess: async (_, v) => {
      await client.invalidateQueries({ queryKey: ['template'] });
      praise(`${v.name} is what new workspaces use from now on`);
    },
  });
}

function VersionMenu({ t, v }: { t: Template; v: Version }) {
  const client = useQueryClient();
  const publish = usePublish(t);
  const archive = useMutation({
    mutationFn: () => api.post('/templateversions/{templateversion}/archive', { path: { templateversion: v.id } }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['versions', t.id] }),
    onError: complain,
  });
  if (v.id === t.active_version_id) return null;
  const ask = () =>
    modals.openConfirmModal({
      title: `Publish ${v.name}?`,
      children: <Text size="sm">New workspaces are made of it, and those there are can be updated to it.</Text>,
      labels: { confirm: 'Publish', cancel: 'Not now' },
      onConfirm: () => publish.mutate(v, { onError: complain }),
    });
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <Button variant="subtle" color="gray" size="compact-sm" aria-label={`Actions for ${v.name}`}>
          <IconDotsVertical size={16} />
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {v.job.status === 'succeeded' && <Menu.Item onClick={ask}>Publish …</Menu.Item>}
        <Menu.Item component={Link} to={`/templates/${t.organization_name}/${t.name}/edit?version=${v.id}`}>
          Edit its files
        </Menu.Item>
        <Menu.Item onClick={() => archive.mutate()}>Archive</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
