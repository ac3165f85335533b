import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { useRegions } from '../../../api/region';
import { ErrorAlert } from '../../../components/ErrorAlert';
import { Loading } from '../../../components/Loading';
import { Page } from '../../../components/Page';
import { getAgents, workspaceQuery } from '../queries';
import classes from './Terminal.module.css';
import { type TerminalHandle, TerminalPane } from './TerminalPane';
import { TerminalToolbar, exitID, fontSizes } from './TerminalToolbar';
import { addTab, closeTerminal, loadTabs, replaceTerminal, selectTab, splitTab, storeTabs } from './tabs';

/** Shells in a workspace, or a command of an app, in the browser. */
export default function TerminalPage() {
  const { owner, workspace: place } = useParams({ from: '/shell/@{$owner}/$workspace/terminal' });
  const search = useSearch({ from: '/shell/@{$owner}/$workspace/terminal' });
  const [workspace = '', dotted] = place.split('.'); // workspace, or workspace.agent
  const wanted = dotted ?? search.agent;
  const { data: w, error } = useQuery(workspaceQuery(owner, workspace));
  const agents = w ? getAgents(w) : [];
  const agent = agents.find((a) => a.name === wanted) ?? (wanted ? undefined : agents.find((a) => !a.parent_id));
  const app = agent?.apps.find((a) => a.slug === search.app);
  const { settled } = useRegions();
  const [asked, setAsked] = useState<'run' | 'shell'>();
  if (error) return <ErrorAlert error={error} />;
  if (!w) return <Loading />;
  if (!agent)
    return (
      <Alert color="yellow">
        {agents.length === 0
          ? 'This workspace has no running agent. Start it to connect.'
          : `Agent ${wanted} not found.`}
      </Alert>
    );
  if (search.app && !app?.command)
    return <Alert color="yellow">{`Agent ${agent.name} has no terminal app ${search.app}.`}</Alert>;
  if (search.command && !asked) return <ConfirmCommand command={search.command} onAnswer={setAsked} />;
  const command = app?.command ?? (asked === 'run' ? search.command : undefined);
  const name = app ? app.display_name || app.slug : agents.length > 1 ? agent.name : 'Terminal';
  return (
    <>
      <title>{`${workspace} · ${app ? name : 'terminal'}`}</title>
      {settled && (
        <Terminals
          key={agent.id + (command ?? '')}
          agent={agent.id}
          command={command}
          name={name}
          back={{ to: `/@${owner}/${workspace}`, label: `Back to ${workspace}` }}
        />
      )}
    </>
  );
}

/** Asks for confirmation before a command from the URL runs. Links are untrusted. */
function ConfirmCommand({ command, onAnswer }: { command: string; onAnswer: (answer: 'run' | 'shell') => void }) {
  return (
    <Page title="Run this command?" wide={false}>
      <Stack>
        <Text>
          The link you followed runs a command in your workspace with your permissions. Run it only if you trust the
          link.
        </Text>
        <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {command}
        </Code>
        <Group>
          <Button autoFocus variant="default" onClick={() => onAnswer('shell')}>
            Open shell without it
          </Button>
          <Button color="red" variant="light" onClick={() => onAnswer('run')}>
            Run command
          </Button>
        </Group>
      </Stack>
    </Page>
  );
}

interface Props {
  agent: string;
  command?: string;
  /** The title of a terminal whose shell sets none. */
  name: string;
  back: { to: string; label: string };
}

/** The terminals of one agent, in tabs. */
function Terminals({ agent, command, name, back }: Props) {
  const key = `terminals ${agent} ${command ?? ''}`;
  const [state, setState] = useState(() => loadTabs(key));
  const [titles, setTitles] = useState<Record<string, string>>({});
  const [searching, setSearching] = useState(false);
  const [fontSize, setFontSize] = useLocalStorage({
    key: 'terminal-font-size',
    defaultValue: fontSizes.standard,
    getInitialValueInEffect: false,
  });
  const panes = useRef(new Map<string, TerminalHandle>());
  const focus = () => panes.current.get(state.focused)?.focus();
  useEffect(() => storeTabs(key, state), [key, state]);
  useEffect(() => panes.current.get(state.focused)?.focus(), [state.focused]);
  return (
    <>
      <TerminalToolbar
        back={back}
        tabs={state.tabs.map((tab, i) => {
          const title = titles[tab.terminals.includes(state.focused) ? state.focused : (tab.terminals[0] ?? '')];
          return { tab, title: title || (i === 0 ? name : `${name} ${i + 1}`) };
        })}
        selected={state.selected}
        fontSize={fontSize}
        searching={searching}
        onSelect={(tab) => setState(selectTab(state, tab))}
        onAdd={() => setState(addTab(state))}
        onSplit={() => setState(splitTab(state))}
        onClose={() => setState(closeTerminal(state, state.focused))}
        onFontSize={setFontSize}
        onSearching={(now) => {
          setSearching(now);
          if (!now) focus();
        }}
        onFind={(text, backwards) => panes.current.get(state.focused)?.find(text, backwards) ?? false}
      />
      {state.tabs.map((tab) => (
        <div
          key={tab.id}
          id={`terminal-${tab.id}`}
          role="tabpanel"
          aria-labelledby={`terminal-tab-${tab.id}`}
          hidden={tab.id !== state.selected}
          className={classes.tab}
        >
          {tab.terminals.map((id, i) => (
            <TerminalPane
              key={id}
              ref={(pane) => {
                if (pane) panes.current.set(id, pane);
                return () => void panes.current.delete(id);
              }}
              id={id}
              agent={agent}
              command={command}
              label={`${name}${i === 0 ? '' : ', second'}. Press Ctrl+Shift+L to leave.`}
              fontSize={fontSize}
              onFocus={() => setState((now) => (now.focused === id ? now : { ...now, focused: id }))}
              onTitle={(title) => setTitles((now) => ({ ...now, [id]: title }))}
              onRestart={() => setState((now) => replaceTerminal(now, id))}
              onLeave={() => document.getElementById(exitID)?.focus()}
              onSearch={() => setSearching(true)}
            />
          ))}
        </div>
      ))}
    </>
  );
}
