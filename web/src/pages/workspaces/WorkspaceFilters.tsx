import { Button, CloseButton, Group, Menu, Text } from '@mantine/core';
import { IconCheck, IconChevronDown } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client';
import { organizations } from '../../api/queries';
import { SearchField } from '../../components/SearchField';
import { getTerm, setTerm } from '../../lib/filterQuery';
import { formatCount, formatNumber } from '../../lib/text';
import type { SavedView } from '../../lib/savedViews';
import { SavedViews } from './SavedViews';
import { sortLabels } from './sort';
import { useWorkspaceCounts } from './workspaceCounts';

interface Choice {
  value: string;
  label: string;
  /** The number of workspaces with this value; undefined when it is not counted. */
  count?: number;
}

const owners: Choice[] = [{ value: 'me', label: 'Me' }];
const statuses: Choice[] = [
  { value: 'running', label: 'Running' },
  { value: 'unhealthy', label: 'Unhealthy' },
  { value: 'starting', label: 'Starting' },
  { value: 'pending', label: 'Pending' },
  { value: 'stopping', label: 'Stopping' },
  { value: 'stopped', label: 'Stopped' },
  { value: 'failed', label: 'Failed' },
  { value: 'canceled', label: 'Canceled' },
];
const toggles = [
  { key: 'status', on: 'unhealthy', label: 'Unhealthy' },
  { key: 'outdated', on: 'true', label: 'Update available' },
  { key: 'dormant', on: 'true', label: 'Dormant' },
  { key: 'shared', on: 'true', label: 'Shared', uncounted: true },
];

interface Props {
  q: string;
  sort: string | undefined;
  /** The number of workspaces in the list; undefined while it loads. */
  total: number | undefined;
  /** The list has no column headers that change the order. */
  narrow: boolean;
  onSearch: (q: string) => void;
  onSort: (sort: string | undefined) => void;
  onOpen: (view: SavedView) => void;
}

/** The search, the filters and the saved views of the workspace list. Each filter is a term of the search. */
export function WorkspaceFilters({ q, sort, total, narrow, onSearch, onSort, onOpen }: Props) {
  const { data: templates = [] } = useQuery({
    queryKey: ['templates', 'filter'],
    queryFn: () => api.get('/templates', { query: { limit: 100 } }),
  });
  const { data: orgs = [] } = useQuery(organizations);
  const count = useWorkspaceCounts(q);
  const named = (list: { name: string; display_name: string }[]) =>
    list.map((item) => ({ value: item.name, label: item.display_name || item.name }));
  const counted = (key: string, choices: Choice[]) =>
    choices.map((choice) => ({ ...choice, count: count(setTerm(q, key, choice.value)) }));
  const set = (key: string) => (value: string | undefined) => onSearch(setTerm(q, key, value));
  const value = (key: string) => getTerm(q, key);
  return (
    <>
      <Group mb="xs" gap="xs" wrap="nowrap">
        <SearchField
          label="Search workspaces"
          placeholder="name, owner:, template:, status:, organization: ..."
          value={q}
          onChange={onSearch}
        />
        <SavedViews q={q} sort={sort} onOpen={onOpen} />
      </Group>
      <Group mb="md" gap={6} role="group" aria-label="Filters">
        <FilterChip name="Owner" all="Anyone" choices={owners} value={value('owner')} onChange={set('owner')} />
        <FilterChip
          name="Status"
          all="Any"
          choices={counted('status', statuses)}
          value={value('status')}
          onChange={set('status')}
        />
        <FilterChip
          name="Template"
          all="Any"
          choices={counted('template', named(templates))}
          value={value('template')}
          onChange={set('template')}
        />
        {orgs.length > 1 && (
          <FilterChip
            name="Organization"
            all="Any"
            choices={named(orgs)}
            value={value('organization')}
            onChange={set('organization')}
          />
        )}
        {toggles.map(({ key, on, label, uncounted }) => {
          const pressed = value(key) === on;
          const found = uncounted ? undefined : count(setTerm(q, key, on));
          return (
            <Button
              key={label}
              size="compact-sm"
              radius="xl"
              variant={pressed ? 'light' : 'default'}
              aria-pressed={pressed}
              leftSection={pressed && <IconCheck size={14} />}
              rightSection={found !== undefined && <FilterCount count={found} />}
              onClick={() => set(key)(pressed ? undefined : on)}
            >
              {label}
            </Button>
          );
        })}
        {narrow && (
          <FilterChip
            name="Sort"
            all="Favorites, then name"
            choices={Object.entries(sortLabels).map(([by, label]) => ({ value: by, label }))}
            value={sort}
            onChange={onSort}
          />
        )}
        {total !== undefined && total > 0 && (
          <Text size="sm" c="dimmed" ml="auto" role="status">
            {formatCount(total, 'workspace')}
          </Text>
        )}
      </Group>
    </>
  );
}

/** The number of matches of a filter. */
function FilterCount({ count }: { count: number }) {
  return (
    <Text span inherit c="dimmed" fw={400}>
      {formatNumber(count)}
    </Text>
  );
}

interface ChipProps {
  name: string;
  /** The label of no filter. */
  all: string;
  choices: Choice[];
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}

/** A filter with its value, a menu of values, and a button that removes it. */
function FilterChip({ name, all, choices, value, onChange }: ChipProps) {
  const label = choices.find((c) => c.value === value)?.label ?? value;
  const check = (on: boolean) => (on ? <IconCheck size={14} /> : <span style={{ width: 14 }} />);
  return (
    <Group gap={0} wrap="nowrap">
      <Menu position="bottom-start" withinPortal>
        <Menu.Target>
          <Button
            size="compact-sm"
            radius="xl"
            variant={value === undefined ? 'default' : 'light'}
            rightSection={<IconChevronDown size={14} />}
          >
            {value === undefined ? name : `${name}: ${label}`}
          </Button>
        </Menu.Target>
        <Menu.Dropdown mah={320} style={{ overflowY: 'auto' }}>
          <Menu.Item leftSection={check(value === undefined)} onClick={() => onChange(undefined)}>
            {all}
          </Menu.Item>
          {choices.map((c) => (
            <Menu.Item
              key={c.value}
              leftSection={check(c.value === value)}
              rightSection={c.count !== undefined && <FilterCount count={c.count} />}
              onClick={() => onChange(c.value)}
            >
              {c.label}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {value !== undefined && (
        <CloseButton size="sm" aria-label={`Remove filter ${name}`} onClick={() => onChange(undefined)} />
      )}
    </Group>
  );
}
