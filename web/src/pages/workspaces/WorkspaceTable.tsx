import { Skeleton, VisuallyHidden } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconArrowsSort } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { type ReactNode, memo } from 'react';
import { RelativeTime } from '../../components/time';
import plain from '../../components/plain.module.css';
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
  const some = loaded.some((workspace) => chosen.has(workspace.id));
  const head = { sort, onSort };
  return (
    <div className={classes.frame} ref={list}>
      <table className={classes.table} aria-label="Workspaces" aria-rowcount={count + 1}>
        <thead>
          <tr aria-rowindex={1} className={classes.row}>
            <th style={{ width: 44 }}>
              <input
                type="checkbox"
                className={classes.check}
                aria-label="Select all loaded workspaces"
                checked={all}
                ref={(box) => {
                  if (box) box.indeterminate = some && !all;
                }}
                onChange={(e) => onPick(loaded, e.currentTarget.checked)}
              />
            </th>
            <SortHeader by="name" {...head}>
              Name
            </SortHeader>
            <SortHeader by="template" {...head}>
              Template
            </SortHeader>
            <SortHeader by="last_used" width={140} className="mantine-visible-from-lg" {...head}>
              Last used
            </SortHeader>
            <SortHeader by="autostop" width={150} className="mantine-visible-from-md" {...head}>
              Autostop
            </SortHeader>
            <SortHeader by="status" width={130} {...head}>
              Status
            </SortHeader>
            <th style={{ width: 150 }} className="mantine-visible-from-md">
              Apps
            </th>
            <th style={{ width: 66 }}>
              <VisuallyHidden>Start or stop</VisuallyHidden>
            </th>
          </tr>
        </thead>
        <tbody ref={container}>
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
        </tbody>
      </table>
    </div>
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
  width?: number;
  className?: string;
  children: ReactNode;
}

/** The header of a column, which changes the order of the list. */
const SortHeader = memo(function SortHeader({ by, sort, onSort, width, className, children }: HeaderProps) {
  const direction = sort === by ? 'ascending' : sort === `-${by}` ? 'descending' : undefined;
  const Arrow = { ascending: IconArrowUp, descending: IconArrowDown, none: IconArrowsSort }[direction ?? 'none'];
  return (
    <th aria-sort={direction} style={{ width }} className={className}>
      <button type="button" className={`${plain.bare} ${classes.sort}`} onClick={() => onSort(nextSort(sort, by))}>
        {children}
        <Arrow size={14} opacity={direction ? 1 : 0.4} aria-hidden />
      </button>
    </th>
  );
});

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
