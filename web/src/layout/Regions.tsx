import { Button, Menu, Text } from '@mantine/core';
import { IconCheck, IconWorld } from '@tabler/icons-react';
import { type Region, choose, primary, useRegions } from '../api/region';

const nameOf = (r: Region) => r.display_name || (r.name === primary ? 'Server' : r.name);

/** From where apps and terminals are opened, where there is a choice. */
export function Regions() {
  const { all, took, wish, region } = useRegions();
  if (all.length < 2 || !region) return null;
  const check = (on: boolean) => (on ? <IconCheck size={16} aria-label="chosen" /> : <span style={{ width: 16 }} />);
  return (
    <Menu position="bottom-end" width={260}>
      <Menu.Target>
        <Button variant="subtle" color="gray" size="sm" leftSection={<IconWorld size={16} />} aria-label={`Apps and terminals by way of ${nameOf(region)}`}>
          {nameOf(region)}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Apps and terminals by way of</Menu.Label>
        <Menu.Item leftSection={check(wish === '')} onClick={() => choose('')}>
          What answers soonest
        </Menu.Item>
        {all.map((r) => {
          const ms = took[r.name];
          return (
            <Menu.Item
              key={r.id}
              leftSection={check(wish === r.name)}
              disabled={!r.healthy}
              onClick={() => choose(r.name)}
              rightSection={
                <Text size="xs" c="dimmed">
                  {r.healthy ? ms !== undefined && `${Math.max(1, Math.round(ms))} ms` : 'not well'}
                </Text>
              }
            >
              {nameOf(r)}
            </Menu.Item>
          );
        })}
      </Menu.Dropdown>
    </Menu>
  );
}
