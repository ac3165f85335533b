import '@mantine/core/styles/NavLink.css';
import { ActionIcon, Button, Group, Menu, NavLink, Paper, Stack, Text, TextInput } from '@mantine/core';
import { IconDotsVertical, IconFile, IconPlus } from '@tabler/icons-react';
import { type FormEvent, useState } from 'react';
import { type Entry, changes, pathProblem } from './archive';
import { modals } from '../../parts/dialogs';

interface Props {
  files: Entry[];
  original: Entry[];
  path: string;
  onOpen: (path: string) => void;
  onChange: (change: (files: Entry[]) => Entry[]) => void;
}

const sorted = (files: Entry[]): Entry[] => files.sort((a, b) => (a.path < b.path ? -1 : 1));

/** The files one edits: to open, to add, to rename and to delete. */
export function Tree({ files, original, path, onOpen, onChange }: Props) {
  const marks = new Map(changes(original, files).map((c) => [c.path, c.kind]));
  const paths = files.map((f) => f.path);
  const add = () =>
    modals.open({
      title: 'New file',
      children: (
        <Name
          taken={paths}
          verb="Add"
          onName={(name) => {
            onChange((all) => sorted([...all, { path: name, mode: 0o644, data: new Uint8Array() }]));
            onOpen(name);
          }}
        />
      ),
    });
  const rename = (old: string) =>
    modals.open({
      title: `Rename ${old}`,
      children: (
        <Name
          taken={paths.filter((p) => p !== old)}
          first={old}
          verb="Rename"
          onName={(name) => {
            onChange((all) => sorted(all.map((f) => (f.path === old ? { ...f, path: name } : f))));
            if (old === path) onOpen(name);
          }}
        />
      ),
    });
  const remove = (gone: string) => onChange((all) => all.filter((f) => f.path !== gone));
  return (
    <Paper withBorder component="nav" aria-label="Files">
      <Group justify="space-between" p="xs">
        <Text fw={600} size="sm">
          Files
        </Text>
        <Button size="compact-xs" variant="default" leftSection={<IconPlus size={12} />} onClick={add}>
          New file
        </Button>
      </Group>
      {files.map((f) => (
        <Group key={f.path} gap={0} wrap="nowrap">
          <NavLink
            component="button"
            label={f.path}
            description={marks.get(f.path)}
            leftSection={<IconFile size={14} />}
            active={f.path === path}
            aria-current={f.path === path ? 'true' : undefined}
            onClick={() => onOpen(f.path)}
            styles={{ label: { overflowWrap: 'anywhere' } }}
          />
          <Menu position="bottom-end" withinPortal>
            <Menu.Target>
              <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${f.path}`}>
                <IconDotsVertical size={14} />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item onClick={() => rename(f.path)}>Rename …</Menu.Item>
              <Menu.Item c="var(--mantine-color-red-text)" onClick={() => remove(f.path)}>
                Delete
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
        </Group>
      ))}
    </Paper>
  );
}

function Name({ taken, first = '', verb, onName }: { taken: string[]; first?: string; verb: string; onName: (name: string) => void }) {
  const [name, setName] = useState(first);
  const [tried, setTried] = useState(false);
  const wrong = pathProblem(name, taken);
  return (
    <form
      onSubmit={(e: FormEvent) => {
        e.preventDefault();
        setTried(true);
        if (wrong) return;
        modals.closeAll();
        onName(name);
      }}
    >
      <Stack>
        <TextInput data-autofocus label="Path" description="From the root of the template." value={name} onChange={(e) => setName(e.currentTarget.value)} error={tried ? wrong : undefined} />
        <Button type="submit">{verb}</Button>
      </Stack>
    </form>
  );
}
