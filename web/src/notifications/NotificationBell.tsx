import { IconBell } from '@tabler/icons-react';
import { PopupButton } from '../components/PopupButton';
import { earlyComponent } from '../components/lazyComponent';
import plain from '../components/plain.module.css';
import { useNewest } from './queries';

const Newest = earlyComponent(() => import('./NewestNotifications'));

/** The bell in the header, with the number of unread notifications. It opens the newest of them. */
export function NotificationBell() {
  const { data } = useNewest();
  const unread = data?.unread_count ?? 0;
  return (
    <PopupButton
      kind="dialog"
      popup={Newest}
      popupProps={{}}
      className={`${plain.icon} ${plain.large} ${plain.subtle}`}
      aria-label={unread === 0 ? 'Notifications' : `Notifications, ${unread} unread`}
    >
      <IconBell size={20} />
      {unread > 0 && <span className={plain.count}>{unread > 99 ? '99+' : unread}</span>}
    </PopupButton>
  );
}
