// The parts that a row of the workspace table and a card have in common.

import { IconStarFilled } from '@tabler/icons-react';
import { Icon } from '../../components/Icon';
import { Picture } from '../../components/Picture';
import { RowLink } from '../../components/RowLink';
import { WorkspaceStatusBadge } from '../../components/WorkspaceStatus';
import plain from '../../components/plain.module.css';
import type { Workspace } from './queries';
import classes from './rows.module.css';

/** The name of a workspace as a link, its template's icon, and its owner. */
export function WorkspaceName({ workspace }: { workspace: Workspace }) {
  return (
    <div className={plain.line}>
      <Icon src={workspace.template_icon} name={workspace.template_name} />
      <div>
        <div className={plain.line}>
          <RowLink data-row-link className={classes.link} to={`/@${workspace.owner_name}/${workspace.name}`}>
            {workspace.name}
          </RowLink>
          {workspace.is_prebuild && (
            <span className={`${plain.badge} ${plain.small} ${plain.brand}`} title="Not claimed by a user yet">
              Prebuilt
            </span>
          )}
          {workspace.favorite && (
            <IconStarFilled size={12} color="var(--mantine-color-yellow-6)" aria-label="Favorite" />
          )}
        </div>
        <div className={`${plain.line} ${classes.note}`}>
          <Picture
            size={16}
            src={workspace.owner_avatar_url}
            name={workspace.owner_name}
            className={plain.round}
            hidden
          />
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
