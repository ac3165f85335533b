import '@mantine/core/styles/NavLink.css';
import { ActionIcon, Button, Group, Menu, NavLink, Paper, Stack, Text, TextInput } from '@mantine/core';
import { IconDotsVertical, IconFile, IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { type Entry, diffEntries, validatePath } from './archive';
import { Form } from '../../components/Form';
import { modals } from '../../components/dialogs';

interface Props {
  files: Entry[];
  original: Entry[];
  path: string;
  onOpen: (path: string) => void;
  onChange: (change: (files: Entry[]) => Entry[]) => void;
}

const sortByPath = (files: Entry[]): Entry[] => files.sort((file, entry) => (file.path < entry.path ? -1 : 1));

/** The file list of the template editor. */
export function FileTree({ files, original, path, onOpen, onChange }: Props) {
  const marks = new Map(diffEntries(original, files).map((change) => [change.path, change.kind]));
  const paths = files.map((file) => file.path);
  const add = () =>
    modals.open({
      title: 'Add file',
      children: (
        <PathForm
          taken={paths}
          verb="Add"
          onName={(name) => {
            onChange((all) => sortByPath([...all, { path: name, mode: 0o644, data: new Uint8Array() }]));
            onOpen(name);
          }}
        />
      ),
    });
  const rename = (old: string) =>
    modals.open({
      title: `Rename ${old}`,
      children: (
        <PathForm
          taken={paths.filter((p) => p !== old)}
          first={old}
          verb="Rename"
          onName={(name) => {
            onChange((all) => sortByPath(all.map((file) => (file.path === old ? { ...file, path: name } : file))));
            if (old === path) onOpen(name);
          }}
        />
      ),
    });
  const remove = (gone: string) => onChange((all) => all.filter((file) => file.path !== gone));
  return (
    <Paper withBorder component="nav" aria-label="Files">
      <Group justify="space-between" p="xs">
        <Text fw={600} size="sm">
          Files
        </Text>
        <Button size="compact-xs" variant="default" leftSection={<IconPlus size={12} />} onClick={add}>
          Add file
        </Button>
      </Group>
      {files.map((file) => (
        <Group key={file.path} gap={0} wrap="nowrap">
          <NavLink
            component="button"
            label={file.path}
            description={marks.get(file.path)}
            leftSection={<IconFile size={14} />}
            active={file.path === path}
            aria-current={file.path === path ? 'true' : undefined}
            onClick={() => onOpen(file.path)}
            styles={{ label: { overflowWrap: 'anywhere' } }}
          />
          <Menu position="bottom-end" withinPortal>
            <Menu.Target>
              <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${file.path}`}>
                <IconDotsVertical size={14} />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item onClick={() => rename(file.path)}>Rename…</Menu.Item>
              <Menu.Item c="var(--mantine-color-red-text)" onClick={() => remove(file.path)}>
                Delete
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
        </Group>
      ))}
    </Paper>
  );
}

function PathForm({
  taken,
  first = '',
  verb,
  onName,
}: {
  taken: string[];
  first?: string;
  verb: string;
  onName: (name: string) => void;
}) {
  const [name, setName] = useState(first);
  const [tried, setTried] = useState(false);
  const wrong = validatePath(name, taken);
  return (
    <Form
      error={null}
      onSubmit={() => {
        setTried(true);
        if (wrong) return false;
        modals.closeAll();
        onName(name);
      }}
    >
      <Stack>
        <TextInput
          data-autofocus
          label="Path"
          description="Relative to the root of the template."
          value={name}
          onChange={(e) => setName(e.currentTarget.value)}
          error={tried ? wrong : undefined}
        />
        <Button type="submit">{verb}</Button>
      </Stack>
    </Form>
  );
}
