import { Anchor, Badge, Box, Button, Checkbox, Group, Paper, Stack, Table, Text, useMantineTheme } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconPlus, IconStarFilled } from '@tabler/icons-react';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { Empty } from '../../parts/Empty';
import { Icon } from '../../parts/Icon';
import { Find, Listing, useList } from '../../parts/Listing';
import { Page } from '../../parts/Page';
import { WorkspaceStatusBadge } from '../../parts/Status';
import { Moment } from '../../parts/time';
import { Batch } from './Batch';

type Workspace = Schema<'Workspace'>;

const size = 25;
const filters: [string, string][] = [
  ['Mine', 'owner:me'],
  ['Everybody’s', ''],
  ['Running', 'status:running'],
  ['Stopped', 'status:stopped'],
  ['Failed', 'status:failed'],
  ['Outdated', 'outdated:true'],
  ['Dormant', 'dormant:true'],
  ['Shared', 'shared:true'],
];

/** Everybody's workspaces that one may see; one's own at first. */
export default function List() {
  const { q = 'owner:me', page = 1 } = useSearch({ from: '/shell/workspaces' });
  const navigate = useNavigate({ from: '/workspaces' });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const wide = useMediaQuery(`(min-width: ${useMantineTheme().breakpoints.sm})`, undefined, { getInitialValueInEffect: false });
  const list = useList({
    key: ['workspaces'],
    filter: q,
    page,
    size,
    topics: ['workspace', 'agent'],
    read: (part, signal) => api.get('/workspaces', { query: { q: q === 'all' ? '' : q, ...part }, signal }),
  });

  const rows = list.data?.workspaces ?? [];
  const picked = rows.filter((w) => chosen.has(w.id));
  const seek = (next: string) => navigate({ search: { q: next === '' ? 'all' : next === 'owner:me' ? undefined : next }, replace: true });
  const pick = (id: string, on: boolean) =>
    setChosen((c) => {
      const next = new Set(c);
      if (on) next.add(id);
      else next.delete(id);
      return next;
    });
  return (
    <Page
      title="Workspaces"
      actions={
        <Button component={Link} to="/templates" leftSection={<IconPlus size={16} />}>
          New workspace
        </Button>
      }
    >
      <Find label="Search workspaces" placeholder="name, owner:, template:, status:, organization: ..." value={q === 'all' ? '' : q} onSeek={seek} choices={filters} />
      <Listing
        list={list}
        rows={list.data?.workspaces.length}
        count={list.data?.count}
        page={page}
        size={size}
        of="workspaces"
        empty={
          q === 'owner:me' ? (
            <Empty title="You have no workspace yet">
              <Button component={Link} to="/templates">
                Choose a template
              </Button>
            </Empty>
          ) : (
            <Empty title="No workspace matches">
              <Button variant="default" onClick={() => seek('owner:me')}>
                Show mine
              </Button>
            </Empty>
          )
        }
      >
        {wide && <Batch picked={picked} onDone={() => setChosen(new Set())} />}
        {wide ? <Wide rows={rows} chosen={chosen} pick={pick} /> : <Narrow rows={rows} />}
      </Listing>
    </Page>
  );
}

function Name({ w }: { w: Workspace }) {
  return (
    <Group gap="xs" wrap="nowrap">
      <Icon src={w.template_icon} name={w.template_name} />
      <div>
        <Group gap={4}>
          <Anchor component={Link} to={`/@${w.owner_name}/${w.name}`} fw={600}>
            {w.name}
          </Anchor>
          {w.is_prebuild && (
            <Badge size="xs" variant="light" title="Built ahead: it is nobody's until somebody takes it">
              prebuilt
            </Badge>
          )}
          {w.favorite && <IconStarFilled size={12} color="var(--mantine-color-yellow-6)" aria-label="Favorite" />}
        </Group>
        <Text size="xs" c="dimmed">
          {w.owner_name}
        </Text>
      </div>
    </Group>
  );
}

function Health({ w }: { w: Workspace }) {
  return (
    <Stack gap={2} align="flex-start">
      <WorkspaceStatusBadge status={w.latest_build.status} />
      {!w.health.healthy && w.latest_build.status === 'running' && (
        <Text size="xs" c="red">
          unhealthy
        </Text>
      )}
      {w.dormant_at && (
        <Text size="xs" c="orange">
          dormant
        </Text>
      )}
    </Stack>
  );
}

interface WideProps {
  rows: Workspace[];
  chosen: ReadonlySet<string>;
  pick: (id: string, on: boolean) => void;
}

function Wide({ rows, chosen, pick }: WideProps) {
  const all = rows.every((w) => chosen.has(w.id));
  return (
    <Paper withBorder>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th w={40}>
              <Checkbox
                aria-label="Choose all on this page"
                checked={all}
                indeterminate={!all && rows.some((w) => chosen.has(w.id))}
                onChange={(e) => rows.map((w) => pick(w.id, e.currentTarget.checked))}
              />
            </Table.Th>
            <Table.Th>Name</Table.Th>
            <Table.Th>Template</Table.Th>
            <Table.Th>Last used</Table.Th>
            <Table.Th>Status</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((w) => (
            <Table.Tr key={w.id}>
              <Table.Td>
                <Checkbox aria-label={`Choose ${w.name}`} checked={chosen.has(w.id)} onChange={(e) => pick(w.id, e.currentTarget.checked)} />
              </Table.Td>
              <Table.Td>
                <Name w={w} />
              </Table.Td>
              <Table.Td>
                <Text size="sm">{w.template_display_name || w.template_name}</Text>
                <Text size="xs" c={w.outdated ? 'orange' : 'dimmed'}>
                  {w.outdated ? 'an update is there' : w.latest_build.template_version_name}
                </Text>
              </Table.Td>
              <Table.Td>
                <Moment at={w.last_used_at} />
              </Table.Td>
              <Table.Td>
                <Health w={w} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}

function Narrow({ rows }: { rows: Workspace[] }) {
  return (
    <Stack gap="xs">
      {rows.map((w) => (
        <Paper withBorder p="sm" key={w.id}>
          <Group justify="space-between" wrap="nowrap" align="flex-start">
            <Name w={w} />
            <Health w={w} />
          </Group>
          <Box mt={4}>
            <Text size="xs" c="dimmed">
              {w.template_display_name || w.template_name} · used <Moment at={w.last_used_at} />
            </Text>
          </Box>
        </Paper>
      ))}
    </Stack>
  );
}
