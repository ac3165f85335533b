import { useMantineTheme } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Suspense, useCallback, useState } from 'react';
import { EmptyState } from '../../components/EmptyState';
import { ErrorAlert } from '../../components/ErrorAlert';
import { Loading } from '../../components/Loading';
import { Page } from '../../components/Page';
import { earlyComponent } from '../../components/lazyComponent';
import plain from '../../components/plain.module.css';
import { WorkspaceCards } from './WorkspaceCards';
import { WorkspaceFilters } from './WorkspaceFilters';
import { WorkspaceTable } from './WorkspaceTable';
import type { Workspace } from './queries';
import { mine, useWorkspaceRows } from './useWorkspaceRows';

const BulkActions = earlyComponent(() => import('./BulkActions'));

/** The workspaces that the user can see; the user's own by default. */
export default function WorkspaceList() {
  const { q = mine, sort } = useSearch({ from: '/shell/workspaces' });
  const navigate = useNavigate({ from: '/workspaces' });
  const [chosen, setChosen] = useState<ReadonlyMap<string, Workspace>>(new Map());
  const wide =
    useMediaQuery(`(min-width: ${useMantineTheme().breakpoints.sm})`, undefined, { getInitialValueInEffect: false }) ??
    true;
  const { head, rows } = useWorkspaceRows(q, sort, wide ? 63 : 98);
  const loaded = new Map(rows.parts.flat().map((workspace) => [workspace.id, workspace]));
  const picked = [...chosen].map(([id, workspace]) => loaded.get(id) ?? workspace);
  const open = useCallback(
    (next: { q: string; sort?: string }) =>
      void navigate({ search: { q: next.q === mine ? undefined : next.q, sort: next.sort }, replace: true }),
    [navigate],
  );
  const search = useCallback((next: string) => open({ q: next, sort }), [open, sort]);
  const order = useCallback((next: string | undefined) => open({ q, sort: next }), [open, q]);
  const pick = useCallback(
    (workspaces: Workspace[], on: boolean) =>
      setChosen((before) => {
        const next = new Map(before);
        for (const workspace of workspaces) {
          if (on) next.set(workspace.id, workspace);
          else next.delete(workspace.id);
        }
        return next;
      }),
    [],
  );
  return (
    <Page
      title="Workspaces"
      actions={
        <Link to="/templates" className={`${plain.button} ${plain.filled}`}>
          <IconPlus size={16} />
          <span className={plain.label}>Create workspace</span>
        </Link>
      }
    >
      <WorkspaceFilters
        q={q}
        sort={sort}
        total={head.data?.count}
        narrow={!wide}
        onSearch={search}
        onSort={order}
        onOpen={open}
      />
      <ErrorAlert error={head.error} />
      {head.isPending && <Loading />}
      {head.data?.count === 0 && q === mine && (
        <EmptyState title="No workspaces yet">
          <Link to="/templates" className={`${plain.button} ${plain.filled}`}>
            Select a template
          </Link>
        </EmptyState>
      )}
      {head.data?.count === 0 && q !== mine && (
        <EmptyState title="No workspaces found">
          <button type="button" className={`${plain.button} ${plain.default}`} onClick={() => search(mine)}>
            Show my workspaces
          </button>
        </EmptyState>
      )}
      {wide && picked.length > 0 && (
        <Suspense>
          <BulkActions picked={picked} onDone={() => setChosen(new Map())} />
        </Suspense>
      )}
      {rows.count > 0 && wide && (
        <WorkspaceTable rows={rows} chosen={chosen} onPick={pick} sort={sort} onSort={order} />
      )}
      {rows.count > 0 && !wide && <WorkspaceCards rows={rows} />}
    </Page>
  );
}
