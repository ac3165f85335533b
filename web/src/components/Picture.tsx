import { useState } from 'react';
import plain from './plain.module.css';

interface Props {
  src: string | undefined;
  name: string;
  /** The width and height in pixels. */
  size: number;
  className?: string;
  hidden?: boolean;
}

/** Returns the first letters of a name. */
export function getInitials(name: string): string {
  const words = name.split(' ').filter(Boolean);
  return words.length < 2
    ? name.trim().slice(0, 2)
    : words
        .map((word) => word[0])
        .join('')
        .slice(0, 2);
}

/** A picture, or the first letters of a name if there is none. */
export function Picture({ src, name, size, className = '', hidden }: Props) {
  const [failed, setFailed] = useState<string>();
  const shown = src && src !== failed;
  const style = { width: size, height: size, fontSize: size / 2.5, ...(shown && { background: 'none' }) };
  return (
    <span className={`${plain.picture} ${className}`} style={style} aria-hidden={hidden}>
      {shown ? <img src={src} alt="" onError={() => setFailed(src)} /> : getInitials(name)}
    </span>
  );
}
