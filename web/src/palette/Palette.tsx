import '@mantine/core/styles/Mark.css';
import '@mantine/spotlight/styles.css';
import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Spotlight, createSpotlight } from '@mantine/spotlight';
import {
  IconArrowRight,
  IconKeyboard,
  IconMoon,
  IconPlayerPlay,
  IconPlayerStop,
  IconSearch,
  IconSun,
  IconTerminal2,
  IconUser,
} from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { api } from '../api/client';
import { usePermissions } from '../api/permissions';
import { Icon } from '../components/Icon';
import { notifyError, notifySuccess } from '../components/confirm';
import { type ListedWorkspace, withRights } from '../pages/workspaces/rowRights';
import { getAgents, isBuilding, useCreateBuild } from '../pages/workspaces/queries';
import { matchesWords, pageCommands } from './commands';
import { showShortcuts } from './shortcuts';

const [store, actions] = createSpotlight();

/** Opens the palette; before it is mounted, too. */
export const openPalette = (): void => actions.open();

/** A search for pages, objects and their actions, which opens with Ctrl+K. */
export default function Palette() {
  const [typed, setTyped] = useState('');
  return (
    <Spotlight.Root
      store={store}
      query={typed}
      onQueryChange={setTyped}
      shortcut={null}
      scrollable
      maxHeight={480}
      attributes={{ content: { 'aria-label': 'Search' } }}
    >
      <Spotlight.Search
        placeholder="Search workspaces, templates, users and actions"
        aria-label="Search for an object or an action"
        leftSection={<IconSearch size={18} />}
      />
      <Spotlight.ActionsList>
        <Results typed={typed.trim()} />
      </Spotlight.ActionsList>
    </Spotlight.Root>
  );
}

/** Reads the objects whose name contains the typed text. Without text, the workspaces that were used last. */
function useObjects(typed: string) {
  const [search] = useDebouncedValue(typed, 200);
  const may = usePermissions();
  const q = search.replaceAll(/["':]/g, ' ').trim();
  const workspaces = useQuery({
    queryKey: ['workspaces', 'palette', q],
    queryFn: async ({ signal }) => {
      const query = q === '' ? { q: 'owner:me', sort: '-last_used', limit: 5 } : { q, limit: 6 };
      return withRights(await api.get('/workspaces', { query: { ...query, rights: true }, signal }));
    },
    placeholderData: keepPreviousData,
  });
  const templates = useQuery({
    queryKey: ['templates', 'filter'],
    queryFn: () => api.get('/templates', { query: { limit: 100 } }),
  });
  const users = useQuery({
    queryKey: ['users', 'palette', q],
    queryFn: ({ signal }) => api.get('/users', { query: { q, limit: 5 }, signal }),
    placeholderData: keepPreviousData,
    enabled: may.readUsers && q !== '',
  });
  return {
    workspaces: workspaces.data ?? [],
    templates: (templates.data ?? [])
      .filter((t) => q !== '' && matchesWords(`${t.display_name} ${t.name}`, q))
      .slice(0, 5),
    users: q === '' ? [] : (users.data?.users ?? []),
    settled: search === typed && !workspaces.isFetching,
  };
}

function Results({ typed }: { typed: string }) {
  const navigate = useNavigate();
  const may = usePermissions();
  const { workspaces, templates, users, settled } = useObjects(typed);
  const { setColorScheme } = useMantineColorScheme();
  const dark = useComputedColorScheme() === 'dark';
  const pages = pageCommands.filter((c) => (!c.needs || may[c.needs]) && matchesWords(c.label, typed));
  const shown = typed === '' ? pages.slice(0, 8) : pages.slice(0, 10);
  const others = [
    {
      label: dark ? 'Light mode' : 'Dark mode',
      icon: dark ? <IconSun size={18} /> : <IconMoon size={18} />,
      run: () => setColorScheme(dark ? 'light' : 'dark'),
    },
    { label: 'Keyboard shortcuts', icon: <IconKeyboard size={18} />, run: showShortcuts },
  ].filter(({ label }) => matchesWords(label, typed));
  const open = (to: string) => () => void navigate({ to });
  if (settled && workspaces.length + templates.length + users.length + shown.length + others.length === 0)
    return <Spotlight.Empty>Nothing found</Spotlight.Empty>;
  return (
    <>
      <Group label="Workspaces" show={workspaces.length > 0}>
        {workspaces.map((workspace) => (
          <WorkspaceCommands key={workspace.id} workspace={workspace} />
        ))}
      </Group>
      <Group label="Templates" show={templates.length > 0}>
        {templates.map((t) => (
          <Spotlight.Action
            key={t.id}
            label={t.display_name || t.name}
            description={t.organization_display_name || t.organization_name}
            leftSection={<Icon src={t.icon} name={t.name} size={18} />}
            onClick={open(`/templates/${t.organization_name}/${t.name}`)}
          />
        ))}
      </Group>
      <Group label="Users" show={users.length > 0}>
        {users.map((user) => (
          <Spotlight.Action
            key={user.id}
            label={user.username}
            description={user.email}
            leftSection={<IconUser size={18} />}
            onClick={open(`/users?q=${encodeURIComponent(user.username)}`)}
          />
        ))}
      </Group>
      <Group label="Actions" show={shown.length + others.length > 0}>
        {shown.map(({ label, to }) => (
          <Spotlight.Action key={label} label={label} leftSection={<IconArrowRight size={18} />} onClick={open(to)} />
        ))}
        {others.map(({ label, icon, run }) => (
          <Spotlight.Action key={label} label={label} leftSection={icon} onClick={run} />
        ))}
      </Group>
    </>
  );
}

function Group({ label, show, children }: { label: string; show: boolean; children: ReactNode }) {
  if (!show) return null;
  return <Spotlight.ActionsGroup label={label}>{children}</Spotlight.ActionsGroup>;
}

/** The actions on a workspace. */
function WorkspaceCommands({ workspace }: { workspace: ListedWorkspace }) {
  const navigate = useNavigate();
  const build = useCreateBuild(workspace);
  const { name, owner_name: owner, latest_build: latest } = workspace;
  const running = latest.transition === 'start' && latest.job.status === 'succeeded';
  const usable = !isBuilding(workspace) && !workspace.dormant_at && !(running && latest.has_external_agent);
  const terminal =
    workspace.rights.includes('ssh') &&
    running &&
    getAgents(workspace).find((agent) => agent.status === 'connected' && agent.display_apps.includes('web_terminal'));
  const run = (transition: 'start' | 'stop') =>
    build.mutate(
      { transition },
      {
        onError: notifyError,
        onSuccess: () => notifySuccess(`${transition === 'start' ? 'Start' : 'Stop'} of ${name} requested`),
      },
    );
  return (
    <>
      <Spotlight.Action
        label={name}
        description={`${owner} · ${latest.status}`}
        leftSection={<Icon src={workspace.template_icon} name={workspace.template_name} size={18} />}
        onClick={() => void navigate({ to: '/@{$owner}/$workspace', params: { owner, workspace: name } })}
      />
      {terminal && (
        <Spotlight.Action
          label={`Terminal of ${name}`}
          leftSection={<IconTerminal2 size={18} />}
          onClick={() => window.open(`/@${owner}/${name}/terminal?agent=${terminal.name}`, '_blank')}
        />
      )}
      {usable && !running && workspace.rights.includes('start') && (
        <Spotlight.Action
          label={`Start ${name}`}
          leftSection={<IconPlayerPlay size={18} />}
          onClick={() => run('start')}
        />
      )}
      {usable && running && workspace.rights.includes('stop') && (
        <Spotlight.Action
          label={`Stop ${name}`}
          leftSection={<IconPlayerStop size={18} />}
          onClick={() => run('stop')}
        />
      )}
    </>
  );
}
