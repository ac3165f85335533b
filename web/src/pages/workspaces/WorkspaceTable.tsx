import { Checkbox, Group, Paper, Skeleton, Table, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconArrowsSort } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { type ReactNode, memo } from 'react';
import { RelativeTime } from '../../components/time';
import { formatCount } from '../../lib/text';
import { Autostop, QuickApps, StartStop } from './RowActions';
import { WorkspaceHealth, WorkspaceName } from './WorkspaceRow';
import type { Workspace } from './queries';
import type { ListedWorkspace } from './rowRights';
import classes from './rows.module.css';
import { nextSort } from './sort';
import { useRowKeys } from './useRowKeys';
import type { Rows } from './useWorkspaceRows';

interface Props {
  rows: Rows;
  chosen: ReadonlyMap<string, Workspace>;
  onPick: (workspaces: Workspace[], on: boolean) => void;
  sort: string | undefined;
  onSort: (sort: string | undefined) => void;
}

/** The workspaces as a table. Only the rows near the visible part of the page are rendered. */
export function WorkspaceTable({ rows, chosen, onPick, sort, onSort }: Props) {
  const { count, visible, before, after, container, measure, get, parts, scrollTo } = rows;
  const list = useRowKeys({ count, visible, scrollTo });
  const loaded = parts.flat();
  const all = loaded.every((workspace) => chosen.has(workspace.id));
  const head = { sort, onSort };
  return (
    <Paper withBorder ref={list}>
      <Table layout="fixed" aria-label="Workspaces" aria-rowcount={count + 1}>
        <Table.Thead>
          <Table.Tr aria-rowindex={1}>
            <Table.Th w={44}>
              <Checkbox
                aria-label="Select all loaded workspaces"
                checked={all}
                indeterminate={!all && loaded.some((workspace) => chosen.has(workspace.id))}
                onChange={(e) => onPick(loaded, e.currentTarget.checked)}
              />
            </Table.Th>
            <SortHeader by="name" {...head}>
              Name
            </SortHeader>
            <SortHeader by="template" {...head}>
              Template
            </SortHeader>
            <SortHeader by="last_used" w={140} visibleFrom="lg" {...head}>
              Last used
            </SortHeader>
            <SortHeader by="autostop" w={150} visibleFrom="md" {...head}>
              Autostop
            </SortHeader>
            <SortHeader by="status" w={130} {...head}>
              Status
            </SortHeader>
            <Table.Th w={150} visibleFrom="md">
              Apps
            </Table.Th>
            <Table.Th w={66}>
              <VisuallyHidden>Start or stop</VisuallyHidden>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody ref={container}>
          <Gap height={before} />
          {visible.map(({ index }) => {
            const workspace = get(index);
            return (
              <tr key={index} ref={measure} className={classes.row} data-index={index} aria-rowindex={index + 2}>
                {workspace ? (
                  <Cells workspace={workspace} chosen={chosen.has(workspace.id)} onPick={onPick} />
                ) : (
                  <td colSpan={8} style={{ height: 64 }}>
                    <Skeleton height={16} width="60%" aria-label="Loading" role="img" />
                  </td>
                )}
              </tr>
            );
          })}
          <Gap height={after} />
        </Table.Tbody>
      </Table>
    </Paper>
  );
}

/** Takes the place of rows that are not rendered. */
function Gap({ height }: { height: number }) {
  if (height <= 0) return null;
  return (
    <tr aria-hidden>
      <td colSpan={8} style={{ height, padding: 0 }} />
    </tr>
  );
}

interface HeaderProps {
  /** The order by this column. */
  by: string;
  sort: string | undefined;
  onSort: (sort: string | undefined) => void;
  w?: number;
  visibleFrom?: string;
  children: ReactNode;
}

/** The header of a column, which changes the order of the list. */
function SortHeader({ by, sort, onSort, children, ...column }: HeaderProps) {
  const direction = sort === by ? 'ascending' : sort === `-${by}` ? 'descending' : undefined;
  const Arrow = { ascending: IconArrowUp, descending: IconArrowDown, none: IconArrowsSort }[direction ?? 'none'];
  return (
    <Table.Th aria-sort={direction} {...column}>
      <UnstyledButton fz="inherit" fw="inherit" onClick={() => onSort(nextSort(sort, by))}>
        <Group gap={4} wrap="nowrap">
          {children}
          <Arrow size={14} opacity={direction ? 1 : 0.4} aria-hidden />
        </Group>
      </UnstyledButton>
    </Table.Th>
  );
}

interface CellsProps {
  workspace: ListedWorkspace;
  chosen: boolean;
  onPick: (workspaces: Workspace[], on: boolean) => void;
}

/** The cells of a row. They render again only when the workspace changes, not on every scroll event. */
const Cells = memo(function Cells({ workspace, chosen, onPick }: CellsProps) {
  const { latest_build: build } = workspace;
  return (
    <>
      <td>
        <input
          type="checkbox"
          className={classes.check}
          aria-label={`Select ${workspace.name}`}
          checked={chosen}
          onChange={(e) => onPick([workspace], e.currentTarget.checked)}
        />
      </td>
      <td>
        <WorkspaceName workspace={workspace} />
      </td>
      <td>
        {workspace.template_display_name || workspace.template_name}
        <div className={classes.note}>
          {build.template_version_name}
          {build.daily_cost > 0 && ` · ${formatCount(build.daily_cost, 'credit')} per day`}
        </div>
        {workspace.outdated && (
          <div className={classes.note}>
            <Link
              className={classes.link}
              to="/@{$owner}/$workspace"
              params={{ owner: workspace.owner_name, workspace: workspace.name }}
              search={{ tab: 'parameters' }}
            >
              Update available
            </Link>
          </div>
        )}
      </td>
      <td className="mantine-visible-from-lg">
        <RelativeTime at={workspace.last_used_at} />
      </td>
      <td className="mantine-visible-from-md">
        <Autostop workspace={workspace} />
      </td>
      <td>
        <WorkspaceHealth workspace={workspace} />
      </td>
      <td className="mantine-visible-from-md">
        <QuickApps workspace={workspace} />
      </td>
      <td>
        <StartStop workspace={workspace} />
      </td>
    </>
  );
});
