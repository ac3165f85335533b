import { IconApps } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import type { MouseEvent } from 'react';
import { type Schema, api } from '../../api/client';
import type { AppOrigin } from '../../api/region';
import { Icon } from '../../components/Icon';
import { notifyError } from '../../components/confirm';
import plain from '../../components/plain.module.css';
import { getAppURL, insertToken, needsToken } from './apps';
import type { Agent, Workspace } from './queries';

/** Creates a session key, for apps that receive one. */
export const createSessionKey = async () => (await api.post('/users/{user}/keys', { path: { user: 'me' } })).key;

export interface AppProps {
  workspace: Workspace;
  agent: Agent;
  app: Schema<'WorkspaceApp'>;
  place: AppOrigin;
}

/** Returns the link of an app, and why it cannot be opened. */
export function useAppLink({ workspace, agent, app, place }: AppProps) {
  const open = useMutation({
    mutationFn: createSessionKey,
    onSuccess: (token) => location.assign(insertToken(app, token)),
    onError: notifyError,
  });
  const href = getAppURL(workspace, agent, app, place);
  const ready = href !== undefined && (agent.status === 'connected' || app.external);
  const why =
    href === undefined
      ? 'This app needs a wildcard access URL, which an admin of this deployment can configure'
      : !ready
        ? 'The agent is not connected'
        : app.health === 'unhealthy'
          ? 'The app is unhealthy'
          : app.health === 'initializing'
            ? 'The app is starting'
            : app.tooltip;
  const tab = app.open_in === 'tab' || app.open_in === 'slim-window' || app.command !== '';
  const onClick = (e: MouseEvent) => {
    if (!ready) return e.preventDefault();
    if (needsToken(app)) {
      e.preventDefault();
      open.mutate();
    } else if (app.open_in === 'slim-window') {
      e.preventDefault();
      window.open(href, '_blank', 'popup,width=900,height=640,noreferrer');
    }
  };
  const link = {
    href: ready ? href : undefined,
    target: tab ? '_blank' : undefined,
    rel: 'noreferrer',
    onClick,
    'data-disabled': !ready || undefined,
    'aria-disabled': !ready,
  };
  return { link, why, title: app.display_name || app.slug };
}

/** An app as an icon, for lists. */
export function AppIcon(props: AppProps) {
  const { link, why, title } = useAppLink(props);
  const { app, workspace } = props;
  return (
    <a
      className={`${plain.icon} ${plain.subtle}`}
      {...link}
      title={why ? `${title}: ${why}` : title}
      aria-label={`${title} of ${workspace.name}`}
    >
      {app.icon ? <Icon src={app.icon} name={title} size={18} /> : <IconApps size={18} />}
    </a>
  );
}
