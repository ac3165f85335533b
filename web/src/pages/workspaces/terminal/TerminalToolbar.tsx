import { ActionIcon, Anchor, Group, Tabs, Text, TextInput, Tooltip } from '@mantine/core';
import { IconColumns2, IconPlus, IconSearch, IconTextDecrease, IconTextIncrease, IconX } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import classes from './Terminal.module.css';
import { type TerminalTab, maxTabs } from './tabs';

/** The id of the element that is focused when the user leaves the terminal by keyboard. */
export const exitID = 'terminal-exit';

/** Font sizes in pixels. */
export const fontSizes = { lowest: 8, standard: 14, highest: 32 };

interface Props {
  back: { to: string; label: string };
  tabs: { tab: TerminalTab; title: string }[];
  selected: string;
  fontSize: number;
  searching: boolean;
  onSelect: (tab: string) => void;
  onAdd: () => void;
  onSplit: () => void;
  onClose: () => void;
  onFontSize: (size: number) => void;
  onSearching: (searching: boolean) => void;
  /** Selects the next or previous match. Reports whether there is one. */
  onFind: (text: string, backwards: boolean) => boolean;
}

/** The toolbar of the terminal page. */
export function TerminalToolbar({ back, tabs, selected, fontSize, searching, ...on }: Props) {
  const split = tabs.find(({ tab }) => tab.id === selected)?.tab.terminals.length === 2;
  return (
    <div className={classes.toolbar}>
      <Anchor component={Link} to={back.to} size="sm" truncate id={exitID} flex="0 1 auto">
        {back.label}
      </Anchor>
      <Tabs
        className={classes.tabs}
        value={selected}
        onChange={(tab) => tab && on.onSelect(tab)}
        activateTabWithKeyboard={false}
      >
        <Tabs.List aria-label="Terminals" style={{ flexWrap: 'nowrap' }}>
          {tabs.map(({ tab, title }) => (
            <Tabs.Tab key={tab.id} value={tab.id} id={`terminal-tab-${tab.id}`} aria-controls={`terminal-${tab.id}`}>
              {title}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      <Text size="xs" c="dimmed" visibleFrom="md" flex="none">
        Ctrl+Shift+L leaves the terminal
      </Text>
      <Group gap={2} wrap="nowrap" flex="none">
        {searching ? (
          <TerminalSearch onFind={on.onFind} onClose={() => on.onSearching(false)} />
        ) : (
          <Action label="Search (Ctrl+Shift+F)" onClick={() => on.onSearching(true)} icon={<IconSearch size={16} />} />
        )}
        <Action label="New terminal" onClick={on.onAdd} off={tabs.length >= maxTabs} icon={<IconPlus size={16} />} />
        <Action label="Split terminal" onClick={on.onSplit} off={split} icon={<IconColumns2 size={16} />} wide />
        <Action
          label="Smaller text"
          onClick={() => on.onFontSize(fontSize - 1)}
          off={fontSize <= fontSizes.lowest}
          icon={<IconTextDecrease size={16} />}
          wide
        />
        <Action
          label="Larger text"
          onClick={() => on.onFontSize(fontSize + 1)}
          off={fontSize >= fontSizes.highest}
          icon={<IconTextIncrease size={16} />}
          wide
        />
        <Action
          label="Close terminal"
          onClick={on.onClose}
          off={tabs.length === 1 && !split}
          icon={<IconX size={16} />}
        />
      </Group>
    </div>
  );
}

interface ActionProps {
  label: string;
  icon: ReactNode;
  onClick: () => void;
  off?: boolean;
  /** Only on screens with room for it. */
  wide?: boolean;
}

function Action({ label, icon, onClick, off, wide }: ActionProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={label}
        onClick={onClick}
        disabled={off}
        visibleFrom={wide ? 'sm' : undefined}
      >
        {icon}
      </ActionIcon>
    </Tooltip>
  );
}

/** The search field. Enter selects the next match, Shift+Enter the previous one. */
function TerminalSearch({ onFind, onClose }: { onFind: Props['onFind']; onClose: () => void }) {
  const [found, setFound] = useState(true);
  return (
    <TextInput
      size="xs"
      autoFocus
      aria-label="Search the terminal"
      placeholder="Search"
      w={160}
      error={!found}
      rightSection={found ? undefined : <span role="status">0</span>}
      onChange={() => setFound(true)}
      onBlur={(e) => !e.currentTarget.value && onClose()}
      onKeyDown={(e) => {
        if (e.key === 'Escape') onClose();
        if (e.key !== 'Enter' || !e.currentTarget.value) return;
        e.preventDefault();
        setFound(onFind(e.currentTarget.value, e.shiftKey));
      }}
    />
  );
}
