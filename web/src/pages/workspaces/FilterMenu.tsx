import { Menu, Text } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import type { PopupState } from '../../components/PopupButton';
import { ButtonMenu } from '../../components/popups';
import { formatNumber } from '../../lib/text';

/** A value of a filter. */
export interface Choice {
  value: string;
  label: string;
  /** The number of workspaces with this value; undefined when it is not counted. */
  count?: number;
}

interface Props {
  /** The label of no filter. */
  all: string;
  choices: Choice[];
  value: string | undefined;
  onChange: (value: string | undefined) => void;
  state: PopupState;
}

/** The menu of the values of a filter. */
export default function FilterMenu({ all, choices, value, onChange, state }: Props) {
  const check = (on: boolean) => (on ? <IconCheck size={14} /> : <span style={{ width: 14 }} />);
  return (
    <ButtonMenu state={state} position="bottom-start" withinPortal>
      <Menu.Dropdown mah={320} style={{ overflowY: 'auto' }}>
        <Menu.Item leftSection={check(value === undefined)} onClick={() => onChange(undefined)}>
          {all}
        </Menu.Item>
        {choices.map((c) => (
          <Menu.Item
            key={c.value}
            leftSection={check(c.value === value)}
            rightSection={
              c.count !== undefined && (
                <Text span inherit c="dimmed" fw={400}>
                  {formatNumber(c.count)}
                </Text>
              )
            }
            onClick={() => onChange(c.value)}
          >
            {c.label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </ButtonMenu>
  );
}
