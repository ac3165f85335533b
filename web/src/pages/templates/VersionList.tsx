import { Anchor, Badge, Button, Group, Menu, Table, Text } from '@mantine/core';
import { IconDotsVertical } from '@tabler/icons-react';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { api } from '../../api/client';
import { useLiveUpdates } from '../../api/live';
import { JobBadge } from '../../components/JobBadge';
import { Loading } from '../../components/Loading';
import { ListPagination } from '../../components/ListPagination';
import { ErrorAlert } from '../../components/ErrorAlert';
import { notifyError, notifySuccess } from '../../components/confirm';
import { DataTable } from '../../components/DataTable';
import { RelativeTime } from '../../components/time';
import { type Template, type Version, useTemplateRights, versionsQuery } from './queries';
import { modals } from '../../components/dialogs';

const size = 25;

/** The import status of a version as a badge. */
export function ImportBadge({ version }: { version: Version }) {
  const { status } = version.job;
  return <JobBadge status={status} label={status === 'succeeded' ? 'Ready' : undefined} />;
}

/** The versions of a template, newest first. */
export default function VersionList({ template }: { template: Template }) {
  const { page = 1 } = useSearch({ from: '/shell/templates/$organization/$template' });
  const list = useQuery({ ...versionsQuery(template.id, page, size), placeholderData: keepPreviousData });
  const may = useTemplateRights(template);
  useLiveUpdates([`jobs/${template.organization_id}`], ['versions', template.id]);
  if (list.error) return <ErrorAlert error={list.error} />;
  if (!list.data) return <Loading />;
  return (
    <>
      <DataTable headers={['Version', 'Message', 'Created by', 'Created']} actions={60} minWidth={620}>
        {list.data.map((version) => (
          <Table.Tr key={version.id}>
            <Table.Td>
              <Group gap="xs">
                <Anchor
                  component={Link}
                  to={`/templates/${template.organization_name}/${template.name}/versions/${version.name}`}
                  fw={600}
                >
                  {version.name}
                </Anchor>
                {version.id === template.active_version_id ? <Badge>Active</Badge> : <ImportBadge version={version} />}
              </Group>
            </Table.Td>
            <Table.Td maw={420}>
              <Text size="sm" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
                {version.message}
              </Text>
            </Table.Td>
            <Table.Td>{version.created_by.username}</Table.Td>
            <Table.Td>
              <RelativeTime at={version.created_at} />
            </Table.Td>
            <Table.Td>{may.update && <VersionMenu template={template} version={version} />}</Table.Td>
          </Table.Tr>
        ))}
      </DataTable>
      <ListPagination rows={list.data.length} size={size} page={page} of="versions" />
    </>
  );
}

/** Makes a version the active one. */
export function usePublish(template: Template | undefined) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (v: { id: string; name: string }) =>
      api.patch('/templates/{template}/versions', { path: { template: template?.id ?? '' }, body: { id: v.id } }),
    onSuccess: async (_, v) => {
      await client.invalidateQueries({ queryKey: ['template'] });
      notifySuccess(`Version ${v.name} published`);
    },
  });
}

function VersionMenu({ template, version }: { template: Template; version: Version }) {
  const client = useQueryClient();
  const publish = usePublish(template);
  const archive = useMutation({
    mutationFn: () =>
      api.post('/templateversions/{templateversion}/archive', { path: { templateversion: version.id } }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['versions', template.id] }),
    onError: notifyError,
  });
  if (version.id === template.active_version_id) return null;
  const ask = () =>
    modals.openConfirmModal({
      title: `Publish ${version.name}?`,
      children: <Text size="sm">New workspaces use this version. Existing workspaces can be updated to it.</Text>,
      labels: { confirm: 'Publish', cancel: 'Cancel' },
      onConfirm: () => publish.mutate(version, { onError: notifyError }),
    });
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <Button variant="subtle" color="gray" size="compact-sm" aria-label={`Actions for ${version.name}`}>
          <IconDotsVertical size={16} />
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {version.job.status === 'succeeded' && <Menu.Item onClick={ask}>Publish…</Menu.Item>}
        <Menu.Item
          component={Link}
          to={`/templates/${template.organization_name}/${template.name}/edit?version=${version.id}`}
        >
          Edit files
        </Menu.Item>
        <Menu.Item onClick={() => archive.mutate()}>Archive</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
