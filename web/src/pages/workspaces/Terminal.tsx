import '@xterm/xterm/css/xterm.css';
import { Alert, Anchor, Box, Button, Code, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { FitAddon } from '@xterm/addon-fit';
import { WebLinksAddon } from '@xterm/addon-web-links';
import { Terminal as Screen } from '@xterm/xterm';
import { useEffect, useRef, useState } from 'react';
import { api } from '../../api/client';
import { useRegions } from '../../api/region';
import { Loading } from '../../parts/Loading';
import { Page } from '../../parts/Page';
import { Refusal } from '../../parts/Refusal';
import { openScreen } from './screen';
import { agentsOf, workspaceQuery } from './data';

/** The terminal that this tab comes back to after a reload. */
function reconnectID(agent: string): string {
  const key = `terminal ${agent}`;
  const known = sessionStorage.getItem(key);
  if (known) return known;
  const fresh = crypto.randomUUID();
  sessionStorage.setItem(key, fresh);
  return fresh;
}

/** Where the keyboard goes from the terminal, which takes the Tab key. */
const exit = 'terminal-exit';

/** A shell in a workspace, or a command of an app, in the browser. */
export default function Terminal() {
  const { owner, workspace: place } = useParams({ from: '/shell/@{$owner}/$workspace/terminal' });
  const search = useSearch({ from: '/shell/@{$owner}/$workspace/terminal' });
  const [workspace = '', dotted] = place.split('.'); // workspace, or workspace.agent
  const wanted = dotted ?? search.agent;
  const { data: w, error } = useQuery(workspaceQuery(owner, workspace));
  const agents = w ? agentsOf(w) : [];
  const agent = agents.find((a) => a.name === wanted) ?? (wanted ? undefined : agents.find((a) => !a.parent_id));
  const app = agent?.apps.find((a) => a.slug === search.app);
  const { settled } = useRegions();
  const [asked, setAsked] = useState<'run' | 'shell'>();
  useEffect(() => {
    document.title = `${workspace} · ${app ? app.display_name || app.slug : 'terminal'}`;
  }, [workspace, app]);
  if (error) return <Refusal error={error} />;
  if (!w) return <Loading />;
  if (!agent) return <Alert color="yellow">{agents.length === 0 ? 'The workspace has no agent now. Start it first.' : `It has no agent ${wanted}.`}</Alert>;
  if (search.app && !app?.command) return <Alert color="yellow">{`The agent ${agent.name} has no app ${search.app} that runs in a terminal.`}</Alert>;
  if (search.command && !asked) return <Strange command={search.command} onAnswer={setAsked} />;
  return (
    <>
      <Group justify="space-between" px="sm" h={32} wrap="nowrap">
        <Anchor component={Link} to={`/@${owner}/${workspace}`} size="sm" truncate id={exit}>
          Back to {workspace}
        </Anchor>
        <Text size="xs" c="dimmed" visibleFrom="xs" flex="none">
          {agents.length > 1 && `${agent.name} · `}Ctrl+Shift+L leaves the terminal by keyboard
        </Text>
      </Group>
      {settled && <Shell agent={agent.id} command={app?.command ?? (asked === 'run' ? search.command : undefined)} />}
    </>
  );
}

/** Asks before a command runs that stands in the address: anybody can write one into a link. */
function Strange({ command, onAnswer }: { command: string; onAnswer: (answer: 'run' | 'shell') => void }) {
  return (
    <Page title="Run this in your workspace?" wide={false}>
      <Stack>
        <Text>The link that you followed wants to run a command in your workspace, with all that you may do there. Run it only if you know who wrote the link.</Text>
        <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {command}
        </Code>
        <Group>
          <Button autoFocus variant="default" onClick={() => onAnswer('shell')}>
            Open a shell without it
          </Button>
          <Button color="red" variant="light" onClick={() => onAnswer('run')}>
            Run it
          </Button>
        </Group>
      </Stack>
    </Page>
  );
}

/** The address of a terminal: of this server, or of the proxy at base, which wants a token for it. */
async function terminalURL(agent: string, base: string, query: URLSearchParams): Promise<string> {
  const path = `/api/v2/workspaceagents/${agent}/pty`;
  if (base) {
    const { signed_token } = await api.post('/applications/reconnecting-pty-signed-token', { body: { agentID: agent, url: base + path } });
    query.set('coder_signed_app_token_23db1dde', signed_token);
  }
  return `${(base || location.origin).replace(/^http/, 'ws')}${path}?${query}`;
}

function Shell({ agent, command }: { agent: string; command?: string }) {
  const { place: region } = useRegions();
  const base = useRef(region.base);
  useEffect(() => {
    base.current = region.base; // the next connection goes there
  }, [region.base]);
  const place = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<'connecting' | 'open' | 'lost'>('connecting');
  useEffect(() => {
    const at = place.current;
    if (!at) return;
    const screen = new Screen({
      fontFamily: 'ui-monospace, Menlo, Consolas, "Liberation Mono", monospace',
      fontSize: 14,
      scrollback: 10_000,
      theme: { background: '#101418' },
    });
    const fit = new FitAddon();
    screen.loadAddon(fit);
    screen.loadAddon(new WebLinksAddon());
    openScreen(screen, at);
    fit.fit();
    screen.focus();
    let socket: WebSocket | undefined;
    let closed = false;
    let wait = 250;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const send = (message: object) => {
      if (socket?.readyState === WebSocket.OPEN) socket.send(new TextEncoder().encode(JSON.stringify(message)));
    };
    const again = () => {
      if (closed) return;
      setState('lost');
      timer = setTimeout(() => void connect(), wait * (0.5 + Math.random()));
      wait = Math.min(wait * 2, 5_000);
    };
    const connect = async () => {
      const query = new URLSearchParams({ reconnect: reconnectID(agent + (command ?? '')), width: String(screen.cols), height: String(screen.rows) });
      if (command) query.set('command', command);
      let url: string;
      try {
        url = await terminalURL(agent, base.current, query);
      } catch {
        return again();
      }
      if (closed) return;
      socket = new WebSocket(url);
      socket.binaryType = 'arraybuffer';
      socket.onopen = () => {
        wait = 250;
        screen.reset(); // the server shows the whole screen again
        setState('open');
        send({ height: screen.rows, width: screen.cols });
      };
      socket.onmessage = (e) => screen.write(typeof e.data === 'string' ? e.data : new Uint8Array(e.data as ArrayBuffer));
      socket.onclose = again;
    };
    void connect();
    screen.attachCustomKeyEventHandler((e) => {
      if (e.code !== 'KeyL' || !e.ctrlKey || !e.shiftKey) return true;
      if (e.type === 'keydown') document.getElementById(exit)?.focus();
      return false;
    });
    const typed = screen.onData((data) => send({ data }));
    const sized = screen.onResize(({ cols, rows }) => send({ height: rows, width: cols }));
    const observer = new ResizeObserver(() => fit.fit());
    observer.observe(at);
    return () => {
      closed = true;
      clearTimeout(timer);
      observer.disconnect();
      typed.dispose();
      sized.dispose();
      socket?.close();
      screen.dispose();
    };
  }, [agent, command]);
  return (
    <Box h="calc(100dvh - 52px - 32px - 4px)" bg="#101418" pos="relative" p={4} data-terminal={state}>
      {state === 'lost' && (
        <Alert color="yellow" variant="filled" pos="absolute" top={8} right={8} style={{ zIndex: 5 }} role="status" py={6}>
          The connection is lost; trying again …
        </Alert>
      )}
      <div ref={place} style={{ height: '100%' }} />
    </Box>
  );
}
