import { Menu, Text } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { getRegionName, setPreferredRegion, useRegions } from '../api/region';
import type { PopupState } from '../components/PopupButton';
import { ButtonMenu } from '../components/popups';

/** The menu of the regions with their latencies. */
export default function RegionChoices({ state }: { state: PopupState }) {
  const { all, took, wish } = useRegions();
  const check = (on: boolean) => (on ? <IconCheck size={16} aria-label="selected" /> : <span style={{ width: 16 }} />);
  return (
    <ButtonMenu state={state} position="bottom-end" width={260}>
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
              {getRegionName(r)}
            </Menu.Item>
          );
        })}
      </Menu.Dropdown>
    </ButtonMenu>
  );
}
