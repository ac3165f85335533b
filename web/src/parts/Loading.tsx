import { Center, Loader } from '@mantine/core';

/** Shown while the first data of something is on its way. */
export function Loading() {
  return (
    <Center mih={240} role="status" aria-label="Loading">
      <Loader type="dots" />
    </Center>
  );
}
