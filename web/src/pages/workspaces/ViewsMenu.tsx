import { Button, Menu, Stack, Text, TextInput } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { IconBookmarkPlus, IconCheck, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { me } from '../../api/queries';
import { Form } from '../../components/Form';
import type { PopupState } from '../../components/PopupButton';
import { modals } from '../../components/dialogs';
import { ButtonMenu } from '../../components/popups';
import { type SavedView, addView, parseViews } from '../../lib/savedViews';

const standard: SavedView[] = [
  { name: 'My workspaces', q: 'owner:me' },
  { name: 'All workspaces', q: '' },
];

interface Props {
  q: string;
  sort: string | undefined;
  onOpen: (view: SavedView) => void;
  state: PopupState;
}

/** The menu of saved filters. They are stored in the browser, separately for each user. */
export default function ViewsMenu({ q, sort, onOpen, state }: Props) {
  const { data: user } = useQuery(me);
  // Without a default value, nothing is stored until the user saves a view.
  const [views = [], setViews] = useLocalStorage<SavedView[] | undefined>({
    key: `workspace-views-${user?.id}`,
    getInitialValueInEffect: false,
    deserialize: parseViews,
  });
  const isCurrent = (view: SavedView) => view.q === q && view.sort === sort;
  const current = views.find(isCurrent);
  const item = (view: SavedView) => (
    <Menu.Item
      key={view.name}
      leftSection={isCurrent(view) ? <IconCheck size={14} /> : <span style={{ width: 14 }} />}
      onClick={() => onOpen(view)}
    >
      {view.name}
    </Menu.Item>
  );
  const save = () =>
    modals.open({
      title: 'Save view',
      children: <SaveView q={q} sort={sort} onSave={(view) => setViews(addView(views, view))} />,
    });
  return (
    <ButtonMenu state={state} position="bottom-end">
      <Menu.Dropdown>
        {standard.map(item)}
        {views.length > 0 && <Menu.Label>Saved views</Menu.Label>}
        {views.map(item)}
        <Menu.Divider />
        <Menu.Item leftSection={<IconBookmarkPlus size={14} />} onClick={save}>
          Save this view…
        </Menu.Item>
        {current && (
          <Menu.Item
            leftSection={<IconTrash size={14} />}
            onClick={() => setViews(views.filter((view) => view !== current))}
          >
            Delete view {current.name}
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </ButtonMenu>
  );
}

function SaveView({ q, sort, onSave }: { q: string; sort: string | undefined; onSave: (view: SavedView) => void }) {
  const [name, setName] = useState('');
  return (
    <Form
      error={null}
      onSubmit={() => {
        if (name.trim() === '') return;
        modals.closeAll();
        onSave({ name: name.trim(), q, sort });
      }}
    >
      <Stack>
        <Text size="sm">Saves the filter and the order of the list in this browser.</Text>
        <TextInput
          data-autofocus
          label="Name"
          autoComplete="off"
          maxLength={64}
          value={name}
          onChange={(e) => setName(e.currentTarget.value)}
        />
        <Button type="submit" disabled={name.trim() === ''}>
          Save
        </Button>
      </Stack>
    </Form>
  );
}
