import { Center, Loader } from '@mantine/core';

/** A placeholder while data loads for the first time. */
export function Loading() {
  return (
    <Center mih={240} role="status" aria-label="Loading">
      <Loader type="dots" />
    </Center>
  );
}
