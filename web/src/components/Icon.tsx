import { Picture } from './Picture';
import plain from './plain.module.css';

/** A template's or app's icon, or the first letters of its name. */
export function Icon({ src, name, size = 32 }: { src: string; name: string; size?: number }) {
  return <Picture src={src} name={name} size={size} className={plain.whole} hidden />;
}
