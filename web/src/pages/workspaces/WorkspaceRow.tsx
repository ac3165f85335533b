// The parts that a row of the workspace table and a card have in common.

import { Avatar, Badge } from '@mantine/core';
import { IconStarFilled } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { Icon } from '../../components/Icon';
import { WorkspaceStatusBadge } from '../../components/WorkspaceStatus';
import type { Workspace } from './queries';
import classes from './rows.module.css';

/** The name of a workspace as a link, its template's icon, and its owner. */
export function WorkspaceName({ workspace }: { workspace: Workspace }) {
  return (
    <div className={classes.line}>
      <Icon src={workspace.template_icon} name={workspace.template_name} />
      <div>
        <div className={classes.line}>
          <Link
            data-row-link
            className={classes.link}
            to="/@{$owner}/$workspace"
            params={{ owner: workspace.owner_name, workspace: workspace.name }}
          >
            {workspace.name}
          </Link>
          {workspace.is_prebuild && (
            <Badge size="xs" title="Not claimed by a user yet">
              Prebuilt
            </Badge>
          )}
          {workspace.favorite && (
            <IconStarFilled size={12} color="var(--mantine-color-yellow-6)" aria-label="Favorite" />
          )}
        </div>
        <div className={`${classes.line} ${classes.note}`}>
          <Avatar size={16} radius="xl" src={workspace.owner_avatar_url || null} name={workspace.owner_name} alt="" />
          {workspace.owner_name}
        </div>
      </div>
    </div>
  );
}

/** The status of a workspace. */
export function WorkspaceHealth({ workspace }: { workspace: Workspace }) {
  return (
    <>
      <WorkspaceStatusBadge workspace={workspace} />
      {workspace.dormant_at && <div className={classes.dormant}>Dormant</div>}
    </>
  );
}
