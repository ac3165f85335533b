import { SegmentedControl, Select, Stack, Text, type MantineColorScheme, useMantineColorScheme } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type Schema, api } from '../../api/client';
import { Loading } from '../../components/Loading';
import { type Density, useDensity } from '../../lib/density';
import { ErrorAlert } from '../../components/ErrorAlert';

const path = { user: 'me' };
type Font = Schema<'TerminalFontName'>;
const fonts: { value: Font; label: string }[] = [
  { value: '', label: 'Browser default' },
  { value: 'ibm-plex-mono', label: 'IBM Plex Mono' },
  { value: 'fira-code', label: 'Fira Code' },
  { value: 'jetbrains-mono', label: 'JetBrains Mono' },
  { value: 'source-code-pro', label: 'Source Code Pro' },
];

/** The theme and the terminal font, which are stored with the account, and the density, which the browser keeps. */
export function Appearance() {
  const client = useQueryClient();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [density, setDensity] = useDensity();
  const settings = useQuery({
    queryKey: ['my-appearance'],
    queryFn: () => api.get('/users/{user}/appearance', { path }),
  });
  const save = useMutation({
    mutationFn: (body: Schema<'UpdateUserAppearanceSettingsRequest'>) =>
      api.put('/users/{user}/appearance', { path, body }),
    onSuccess: (data) => client.setQueryData(['my-appearance'], data),
  });
  if (settings.isPending) return <Loading />;
  const now = settings.data ?? { theme_preference: '', terminal_font: '' as Font };
  const scheme = (to: string) => {
    setColorScheme(to as MantineColorScheme);
    save.mutate({ ...now, theme_preference: to });
  };
  return (
    <Stack maw={520}>
      <ErrorAlert error={settings.error ?? save.error} />
      <div>
        <Text size="sm" fw={600} id="theme">
          Theme
        </Text>
        <SegmentedControl
          aria-labelledby="theme"
          mt={4}
          value={colorScheme}
          onChange={scheme}
          data={[
            { value: 'auto', label: 'System' },
            { value: 'light', label: 'Light' },
            { value: 'dark', label: 'Dark' },
          ]}
        />
      </div>
      <div>
        <Text size="sm" fw={600} id="density">
          Density of tables
        </Text>
        <Text size="xs" c="dimmed">
          Kept in this browser.
        </Text>
        <SegmentedControl
          aria-labelledby="density"
          mt={4}
          value={density}
          onChange={(to) => setDensity(to as Density)}
          data={[
            { value: 'comfortable', label: 'Comfortable' },
            { value: 'compact', label: 'Compact' },
          ]}
        />
      </div>
      <Select
        label="Terminal font"
        description="Used when the font is installed on your computer."
        allowDeselect={false}
        data={fonts}
        value={now.terminal_font}
        onChange={(v) => save.mutate({ ...now, terminal_font: (v ?? '') as Font })}
      />
    </Stack>
  );
}
