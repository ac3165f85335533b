import { Button, Menu, Text } from '@mantine/core';
import { IconCheck, IconWorld } from '@tabler/icons-react';
import { type Region, setPreferredRegion, primary, useRegions } from '../api/region';

const nameOf = (region: Region) => region.display_name || (region.name === primary ? 'Server' : region.name);

/** Selects the region that serves apps and terminals. Hidden when there is only one. */
export function RegionMenu() {
  const { all, took, wish, region } = useRegions();
  if (all.length < 2 || !region) return null;
  const check = (on: boolean) => (on ? <IconCheck size={16} aria-label="selected" /> : <span style={{ width: 16 }} />);
  return (
    <Menu position="bottom-end" width={260}>
      <Menu.Target>
        <Button
          variant="subtle"
          color="gray"
          size="sm"
          leftSection={<IconWorld size={16} />}
          aria-label={`Region: ${nameOf(region)}`}
        >
          {nameOf(region)}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Region for apps and terminals</Menu.Label>
        <Menu.Item leftSection={check(wish === '')} onClick={() => setPreferredRegion('')}>
          Lowest latency
        </Menu.Item>
        {all.map((r) => {
          const ms = took[r.name];
          return (
            <Menu.Item
              key={r.id}
              leftSection={check(wish === r.name)}
              disabled={!r.healthy}
              onClick={() => setPreferredRegion(r.name)}
              rightSection={
                <Text size="xs" c="dimmed">
                  {r.healthy ? ms !== undefined && `${Math.max(1, Math.round(ms))} ms` : 'unhealthy'}
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
