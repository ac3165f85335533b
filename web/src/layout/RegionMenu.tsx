import { IconWorld } from '@tabler/icons-react';
import { getRegionName, useRegions } from '../api/region';
import { PopupButton } from '../components/PopupButton';
import { earlyComponent } from '../components/lazyComponent';
import plain from '../components/plain.module.css';

const Choices = earlyComponent(() => import('./RegionChoices'));

/** Selects the region that serves apps and terminals. Hidden when there is only one. */
export function RegionMenu() {
  const { all, region } = useRegions();
  if (all.length < 2 || !region) return null;
  const name = getRegionName(region);
  return (
    <PopupButton
      popup={Choices}
      popupProps={{}}
      className={`${plain.button} ${plain.subtle}`}
      aria-label={`Region: ${name}`}
    >
      <IconWorld size={16} />
      <span className={plain.label}>{name}</span>
    </PopupButton>
  );
}
