import { Box, Button, Group, Paper } from '@mantine/core';
import { Suspense, useState } from 'react';
import type { Schema } from '../../api/client';
import { Loading } from '../../components/Loading';
import { lazyComponent } from '../../components/lazyComponent';

const Markdown = lazyComponent(() => import('../../components/Markdown'));
const Code = lazyComponent(() => import('./CodeEditor'));

/** The source of a template before it is created: a button for each file, and the open file. */
export function SourcePreview({ files }: { files: Schema<'TemplateFile'>[] }) {
  const [chosen, setChosen] = useState('main.tf');
  const open = files.find((file) => file.path === chosen) ?? files[0];
  return (
    <Paper withBorder component="section" aria-label="Source" style={{ overflow: 'hidden' }}>
      <Group component="nav" aria-label="Files" gap={4} p="xs">
        {files.map((file) => (
          <Button
            key={file.path}
            size="compact-sm"
            variant={file.path === open?.path ? 'light' : 'subtle'}
            aria-pressed={file.path === open?.path}
            onClick={() => setChosen(file.path)}
          >
            {file.path}
          </Button>
        ))}
      </Group>
      {open && (
        <Suspense fallback={<Loading />}>
          {open.path === 'README.md' ? (
            <Box p="md">
              <Markdown text={open.content} />
            </Box>
          ) : (
            <Box h="65vh">
              <Code path={open.path} value={open.content} />
            </Box>
          )}
        </Suspense>
      )}
    </Paper>
  );
}
