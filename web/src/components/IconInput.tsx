import {
  ActionIcon,
  Group,
  Popover,
  ScrollArea,
  SegmentedControl,
  Stack,
  Text,
  TextInput,
  Tooltip,
  UnstyledButton,
} from '@mantine/core';
import { IconMoodSmile } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { Icon } from './Icon';
import { type BuiltinIcon, findIcons, useIcons } from '../lib/icons';

interface Props {
  value: string;
  onChange: (e: { currentTarget: { value: string } }) => void;
  error?: ReactNode;
  disabled?: boolean;
}

/** How many icons the picker shows at once. */
const maxIcons = 160;

/** A text field for the URL of an icon, with a picker for the built-in icons. */
export function IconInput({ value, onChange, error, disabled }: Props) {
  const [open, setOpen] = useState(false);
  const choose = (path: string) => {
    onChange({ currentTarget: { value: path } });
    setOpen(false);
  };
  return (
    <TextInput
      label="Icon"
      description="Select a built-in icon or enter a URL, for example /icon/docker.svg."
      value={value}
      onChange={onChange}
      error={error}
      disabled={disabled}
      leftSection={value !== '' && <Icon src={value} name="" size={20} />}
      rightSection={
        <Popover
          opened={open}
          onChange={setOpen}
          position="bottom-end"
          trapFocus
          returnFocus
          withinPortal
          width={340}
          shadow="md"
        >
          <Popover.Target>
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label="Select icon"
              disabled={disabled}
              onClick={() => setOpen(!open)}
            >
              <IconMoodSmile size={18} />
            </ActionIcon>
          </Popover.Target>
          <Popover.Dropdown aria-label="Select icon">
            <IconPicker onChoose={choose} />
          </Popover.Dropdown>
        </Popover>
      }
    />
  );
}

function IconPicker({ onChoose }: { onChoose: (path: string) => void }) {
  const [kind, setKind] = useState('all');
  const [query, setQuery] = useState('');
  const list = useIcons(true);
  const all = [
    ...(kind !== 'emojis' ? (list.data?.icons ?? []) : []),
    ...(kind !== 'icons' ? (list.data?.emojis ?? []) : []),
  ];
  const found = findIcons(all, query, maxIcons);
  return (
    <Stack gap="xs">
      <TextInput
        data-autofocus
        type="search"
        aria-label="Search icons and emoji"
        placeholder="Search"
        value={query}
        onChange={(e) => setQuery(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key !== 'Enter') return;
          e.preventDefault(); // do not submit the surrounding form
          if (found[0]) onChoose(found[0].path);
        }}
      />
      <SegmentedControl
        fullWidth
        size="xs"
        aria-label="Icon type"
        data={[
          { value: 'all', label: 'All' },
          { value: 'icons', label: 'Icons' },
          { value: 'emojis', label: 'Emoji' },
        ]}
        value={kind}
        onChange={setKind}
      />
      <ScrollArea.Autosize mah={260} type="auto">
        <Group gap={4}>
          {found.map((icon) => (
            <IconButton key={icon.path} picture={icon} onChoose={onChoose} />
          ))}
        </Group>
      </ScrollArea.Autosize>
      <Text size="xs" c="dimmed" role="status">
        {describeResults(list.isPending, list.error, found.length, all.length)}
      </Text>
    </Stack>
  );
}

function describeResults(pending: boolean, error: Error | null, found: number, all: number) {
  if (pending) return 'Loading icons…';
  if (error) return `Icons could not be loaded: ${error.message}`;
  if (all === 0) return 'This server has no built-in icons. Enter a URL.';
  if (found === 0) return 'No icons found';
  return found === maxIcons ? `First ${maxIcons} of ${all}. Search to find more.` : `${found} of ${all}`;
}

function IconButton({ picture, onChoose }: { picture: BuiltinIcon; onChoose: (path: string) => void }) {
  return (
    <Tooltip label={picture.name} openDelay={300}>
      <UnstyledButton type="button" aria-label={picture.name} p={4} onClick={() => onChoose(picture.path)}>
        <img src={picture.path} alt="" width={24} height={24} loading="lazy" />
      </UnstyledButton>
    </Tooltip>
  );
}
