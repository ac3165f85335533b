import '@mantine/core/styles/NavLink.css';
import { Box, Grid, NavLink, Paper, Text } from '@mantine/core';
import { IconFile } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Suspense, useState } from 'react';
import { Loading } from '../../components/Loading';
import { ErrorAlert } from '../../components/ErrorAlert';
import { lazyComponent } from '../../components/lazyComponent';
import { decodeText } from './archive';
import { filesQuery, versionQuery } from './queries';
import { formatNumber } from '../../lib/text';

const Code = lazyComponent(() => import('./CodeEditor'));

/** A placeholder for a binary file. */
export function BinaryFile({ data }: { data: Uint8Array }) {
  return (
    <Text p="md" size="sm" c="dimmed">
      Binary file, {formatNumber(data.length)} bytes
    </Text>
  );
}

interface Props {
  version: string;
  /** The file to open first, and the line to highlight in it. */
  file?: string;
  line?: number;
}

/** The files of a version, read-only. */
export default function VersionFiles({ version, file: first, line }: Props) {
  const v = useQuery(versionQuery(version));
  const files = useQuery(filesQuery(v.data?.job.file_id));
  const [chosen, choose] = useState(first);
  if (v.error || files.error) return <ErrorAlert error={v.error ?? files.error} />;
  if (!files.data) return <Loading />;
  const file =
    files.data.find((entry) => entry.path === chosen) ??
    files.data.find((entry) => entry.path === 'main.tf') ??
    files.data[0];
  const text = file && decodeText(file.data);
  return (
    <Grid>
      <Grid.Col span={{ base: 12, md: 3 }}>
        <Paper withBorder component="nav" aria-label="Files">
          {files.data.map((entry) => (
            <NavLink
              key={entry.path}
              component="button"
              label={entry.path}
              leftSection={<IconFile size={14} />}
              active={entry === file}
              aria-current={entry === file ? 'true' : undefined}
              onClick={() => choose(entry.path)}
              styles={{ label: { overflowWrap: 'anywhere' } }}
            />
          ))}
        </Paper>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 9 }}>
        <Paper withBorder>
          {file && text === undefined && <BinaryFile data={file.data} />}
          {file && text !== undefined && (
            <Suspense fallback={<Loading />}>
              <Box mah="70vh" style={{ overflow: 'auto' }}>
                <Code key={file.path} path={file.path} value={text} line={file.path === first ? line : undefined} />
              </Box>
            </Suspense>
          )}
        </Paper>
      </Grid.Col>
    </Grid>
  );
}
