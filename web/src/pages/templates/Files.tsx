import '@mantine/core/styles/NavLink.css';
import { Box, Grid, NavLink, Paper, Text } from '@mantine/core';
import { IconFile } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Suspense, lazy, useState } from 'react';
import { Loading } from '../../parts/Loading';
import { Refusal } from '../../parts/Refusal';
import { textOf } from './archive';
import { filesQuery, versionQuery } from './data';

const Code = lazy(() => import('./Code'));

/** What is shown of a file that is no text. */
export function NoText({ data }: { data: Uint8Array }) {
  return (
    <Text p="md" size="sm" c="dimmed">
      This is no text: {data.length.toLocaleString()} bytes.
    </Text>
  );
}

/** The files of a version, to read. */
export default function Files({ version }: { version: string }) {
  const v = useQuery(versionQuery(version));
  const files = useQuery(filesQuery(v.data?.job.file_id));
  const [chosen, choose] = useState<string>();
  if (v.error || files.error) return <Refusal error={v.error ?? files.error} />;
  if (!files.data) return <Loading />;
  const file = files.data.find((f) => f.path === chosen) ?? files.data.find((f) => f.path === 'main.tf') ?? files.data[0];
  const text = file && textOf(file.data);
  return (
    <Grid>
      <Grid.Col span={{ base: 12, md: 3 }}>
        <Paper withBorder component="nav" aria-label="Files">
          {files.data.map((f) => (
            <NavLink
              key={f.path}
              component="button"
              label={f.path}
              leftSection={<IconFile size={14} />}
              active={f === file}
              aria-current={f === file ? 'true' : undefined}
              onClick={() => choose(f.path)}
              styles={{ label: { overflowWrap: 'anywhere' } }}
            />
          ))}
        </Paper>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 9 }}>
        <Paper withBorder>
          {file && text === undefined && <NoText data={file.data} />}
          {file && text !== undefined && (
            <Suspense fallback={<Loading />}>
              <Box mah="70vh" style={{ overflow: 'auto' }}>
                <Code path={file.path} value={text} />
              </Box>
            </Suspense>
          )}
        </Paper>
      </Grid.Col>
    </Grid>
  );
}
