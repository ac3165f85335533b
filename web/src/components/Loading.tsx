import { Skeleton, Stack } from '@mantine/core';

const widths = ['30%', '100%', '85%', '95%', '60%'];

/** A placeholder in the shape of text while data loads for the first time. */
export function Loading() {
  return (
    <Stack mih={240} w="100%" py="md" gap="md" role="status" aria-label="Loading">
      {widths.map((width) => (
        <Skeleton key={width} height={16} width={width} maw={720} />
      ))}
    </Stack>
  );
}
