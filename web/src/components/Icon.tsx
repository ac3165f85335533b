import { Avatar } from '@mantine/core';

/** A template's or app's icon, or the first letters of its name. */
export function Icon({ src, name, size = 32 }: { src: string; name: string; size?: number }) {
  return (
    <Avatar
      src={src || null}
      name={name}
      size={size}
      radius="sm"
      color="gray"
      alt=""
      aria-hidden
      styles={{ image: { objectFit: 'contain' } }} // icons are not always square
    />
  );
}
