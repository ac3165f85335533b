// The panels beside and below the code of the template editor.

import { Anchor, Group, NavLink, Paper, Stack, Text, TextInput, UnstyledButton } from '@mantine/core';
import { IconAlertCircle, IconAlertTriangle, IconSearch } from '@tabler/icons-react';
import { useState } from 'react';
import type { Schema } from '../../api/client';
import { ParameterField } from '../../components/ParameterField';
import { parameterFromPreview } from '../../lib/dynamicParameters';
import { formatCount } from '../../lib/text';
import type { Entry } from './archive';
import { type Block, type Problem, searchFiles } from './sourceCheck';

/** Opens a file at a line. */
export type OpenAt = (path: string, line: number) => void;

/** The blocks of the open file. */
export function Outline({ blocks, onOpen }: { blocks: Block[]; onOpen: OpenAt }) {
  if (blocks.length === 0) return null;
  return (
    <Paper withBorder component="nav" aria-label="Outline">
      <Text fw={600} size="sm" p="xs">
        Outline
      </Text>
      <div style={{ maxHeight: '40vh', overflow: 'auto' }}>
        {blocks.map((block) => (
          <NavLink
            key={`${block.path}:${block.line}`}
            component="button"
            label={block.labels.join('.') || block.type}
            description={block.labels.length > 0 ? block.type : undefined}
            py={4}
            onClick={() => onOpen(block.path, block.line)}
            styles={{ label: { overflowWrap: 'anywhere' } }}
          />
        ))}
      </div>
    </Paper>
  );
}

/** Searches a text in all files. */
export function FileSearch({ files, onOpen }: { files: Entry[]; onOpen: OpenAt }) {
  const [text, setText] = useState('');
  const matches = searchFiles(files, text);
  return (
    <Paper withBorder component="section" aria-label="Search in files" p="xs">
      <TextInput
        type="search"
        size="xs"
        aria-label="Search in files"
        placeholder="Search in files"
        leftSection={<IconSearch size={14} />}
        value={text}
        onChange={(e) => setText(e.currentTarget.value)}
      />
      {text !== '' && (
        <Text size="xs" c="dimmed" mt={6} role="status">
          {matches.length === 0 ? 'No matches' : formatCount(matches.length, 'matching line')}
        </Text>
      )}
      <div style={{ maxHeight: '30vh', overflow: 'auto' }}>
        {matches.map((match) => (
          <UnstyledButton
            key={`${match.path}:${match.line}`}
            display="block"
            w="100%"
            py={4}
            onClick={() => onOpen(match.path, match.line)}
          >
            <Text size="xs" c="dimmed">
              {match.path}:{match.line}
            </Text>
            <Text size="xs" ff="monospace" truncate>
              {match.text}
            </Text>
          </UnstyledButton>
        ))}
      </div>
    </Paper>
  );
}

/** The problems of all files. A problem with a place opens it. */
export function Problems({ problems, onOpen }: { problems: Problem[]; onOpen: OpenAt }) {
  return (
    <Paper withBorder component="section" aria-label="Problems" p="xs">
      <Text size="sm" fw={600} role="status">
        {problems.length === 0 ? 'No problems found' : formatCount(problems.length, 'problem')}
      </Text>
      <Stack gap={4} mt={problems.length > 0 ? 6 : 0} mah="24vh" style={{ overflow: 'auto' }}>
        {problems.map((problem) => (
          <ProblemRow key={JSON.stringify(problem)} problem={problem} onOpen={onOpen} />
        ))}
      </Stack>
    </Paper>
  );
}

function ProblemRow({ problem, onOpen }: { problem: Problem; onOpen: OpenAt }) {
  const failed = problem.severity === 'error';
  const Mark = failed ? IconAlertCircle : IconAlertTriangle;
  const text = `${problem.summary}${problem.detail ? `: ${problem.detail}` : ''}`;
  return (
    <Group gap={6} wrap="nowrap" align="flex-start">
      <Mark
        size={16}
        color={`var(--mantine-color-${failed ? 'red' : 'yellow'}-text)`}
        aria-label={failed ? 'Error' : 'Warning'}
        role="img"
        style={{ flexShrink: 0, marginTop: 2 }}
      />
      <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {problem.path !== '' && (
          <Anchor component="button" type="button" inherit onClick={() => onOpen(problem.path, problem.line)}>
            {problem.path}:{problem.line}
          </Anchor>
        )}{' '}
        {text}
      </Text>
    </Group>
  );
}

interface FormProps {
  parameters: Schema<'PreviewParameter'>[];
  values: Record<string, string>;
  onChange: (values: Record<string, string>) => void;
}

/** The form for new workspaces, as the files define it. Nothing is saved. */
export function FormPreview({ parameters, values, onChange }: FormProps) {
  return (
    <Paper withBorder p="md" component="section" aria-label="Form preview">
      <Stack>
        <div>
          <Text fw={600} size="sm">
            Form preview
          </Text>
          <Text size="xs" c="dimmed">
            Evaluated as for you. Parameters of Terraform modules appear after a build.
          </Text>
        </div>
        {parameters.length === 0 && (
          <Text size="sm" c="dimmed">
            No parameters
          </Text>
        )}
        {parameters.map(parameterFromPreview).map((parameter) => (
          <ParameterField
            key={parameter.name}
            parameter={parameter}
            value={values[parameter.name] ?? parameter.evaluated}
            error={parameter.error}
            lock={parameter.locked ? 'Set by the template.' : undefined}
            onChange={(value) => onChange({ ...values, [parameter.name]: value })}
          />
        ))}
      </Stack>
    </Paper>
  );
}
