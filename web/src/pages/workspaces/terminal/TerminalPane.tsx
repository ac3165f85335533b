import '@xterm/xterm/css/xterm.css';
import { Alert } from '@mantine/core';
import { FitAddon } from '@xterm/addon-fit';
import { SearchAddon } from '@xterm/addon-search';
import { WebLinksAddon } from '@xterm/addon-web-links';
import { Terminal as Screen } from '@xterm/xterm';
import { type Ref, useEffect, useEffectEvent, useImperativeHandle, useRef, useState } from 'react';
import { api } from '../../../api/client';
import { useRegions } from '../../../api/region';
import { type TerminalState, connectTerminal } from './connection';
import { openTerminal } from './renderer';
import classes from './Terminal.module.css';

/** Returns the URL of a terminal on this server, or on the proxy at base with a signed app token. */
async function getTerminalURL(agent: string, base: string, query: URLSearchParams): Promise<string> {
  const path = `/api/v2/workspaceagents/${agent}/pty`;
  if (base) {
    const { signed_token } = await api.post('/applications/reconnecting-pty-signed-token', {
      body: { agentID: agent, url: base + path },
    });
    query.set('coder_signed_app_token_23db1dde', signed_token);
  }
  return `${(base || location.origin).replace(/^http/, 'ws')}${path}?${query}`;
}

/** What the page does with a terminal. */
export interface TerminalHandle {
  focus: () => void;
  /** Selects the next match, or the previous one. Reports whether there is a match. */
  find: (text: string, backwards: boolean) => boolean;
}

interface Props {
  ref: Ref<TerminalHandle>;
  id: string;
  agent: string;
  command?: string;
  label: string;
  fontSize: number;
  onFocus: () => void;
  onTitle: (title: string) => void;
  /** The user presses Enter after the shell ended. */
  onRestart: () => void;
  /** The user presses Ctrl+Shift+L. */
  onLeave: () => void;
  /** The user presses Ctrl+Shift+F. */
  onSearch: () => void;
}

/** One terminal of a workspace. */
export function TerminalPane({ ref, id, agent, command, label, fontSize, ...on }: Props) {
  const { origin: region } = useRegions();
  const getURL = useEffectEvent((query: URLSearchParams) => getTerminalURL(agent, region.pathOrigin, query));
  const onTitle = useEffectEvent(on.onTitle);
  const onRestart = useEffectEvent(on.onRestart);
  const onLeave = useEffectEvent(on.onLeave);
  const onSearch = useEffectEvent(on.onSearch);
  const getFontSize = useEffectEvent(() => fontSize);
  const getLabel = useEffectEvent(() => label);
  const place = useRef<HTMLDivElement>(null);
  const opened = useRef<{ screen: Screen; search: SearchAddon; fit: () => void }>(null);
  const [state, setState] = useState<TerminalState>('connecting');
  useImperativeHandle(ref, () => ({
    focus: () => opened.current?.screen.focus(),
    find: (text, backwards) =>
      (backwards ? opened.current?.search.findPrevious(text) : opened.current?.search.findNext(text)) ?? false,
  }));
  useEffect(() => {
    const at = place.current;
    if (!at) return;
    const screen = new Screen({
      fontFamily: 'ui-monospace, Menlo, Consolas, "Liberation Mono", monospace',
      fontSize: getFontSize(),
      scrollback: 10_000,
      theme: { background: '#101418' },
    });
    const fitAddon = new FitAddon();
    const search = new SearchAddon();
    for (const addon of [fitAddon, search, new WebLinksAddon()]) screen.loadAddon(addon);
    openTerminal(screen, at);
    screen.textarea?.setAttribute('aria-label', getLabel());
    // A terminal in a tab that is not selected has no size.
    const fit = () => at.clientWidth > 0 && fitAddon.fit();
    fit();
    opened.current = { screen, search, fit };
    let ended = false;
    const connection = connectTerminal({
      id,
      command,
      getURL: (query) => getURL(query),
      getSize: () => ({ width: screen.cols, height: screen.rows }),
      onOutput: (output) => screen.write(output),
      onState: (now) => {
        setState(now);
        ended = now === 'ended';
        if (ended) screen.write('\r\n\x1b[0m\x1b[2mThe session ended. Press Enter to start a new one.\x1b[0m\r\n');
      },
    });
    screen.attachCustomKeyEventHandler((e) => {
      if (!e.ctrlKey || !e.shiftKey || (e.code !== 'KeyL' && e.code !== 'KeyF')) return true;
      if (e.type === 'keydown') {
        e.preventDefault();
        if (e.code === 'KeyL') onLeave();
        else onSearch();
      }
      return false;
    });
    const typed = screen.onData((data) => {
      if (!ended) connection.type(data);
      else if (data === '\r') onRestart();
    });
    const titled = screen.onTitleChange((title) => onTitle(title));
    const sized = screen.onResize(() => connection.resize());
    const observer = new ResizeObserver(fit);
    observer.observe(at);
    return () => {
      observer.disconnect();
      for (const listener of [typed, titled, sized]) listener.dispose();
      connection.close();
      screen.dispose();
      opened.current = null;
    };
  }, [id, agent, command]);
  useEffect(() => {
    if (!opened.current) return;
    opened.current.screen.options.fontSize = fontSize;
    opened.current.fit();
  }, [fontSize]);
  return (
    <div className={classes.pane} data-terminal={state} onFocus={on.onFocus}>
      {state === 'lost' && (
        <Alert color="yellow" variant="filled" className={classes.notice} role="status" py={6}>
          Connection lost. Reconnecting…
        </Alert>
      )}
      <div ref={place} className={classes.screen} />
    </div>
  );
}
