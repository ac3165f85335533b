import '@mantine/core/styles/ColorSwatch.css';
import '@mantine/core/styles/ColorPicker.css';
import '@mantine/core/styles/ColorInput.css';
import { ActionIcon, Button, ColorInput, Group, Paper, Stack, Switch, Text, TextInput } from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type Schema, api } from '../../api/client';
import { appearance } from '../../api/queries';
import { Loading } from '../../parts/Loading';
import { Refusal, fieldError } from '../../parts/Refusal';
import { praise } from '../../parts/confirm';

type Config = Schema<'AppearanceConfig'>;

/** Name, logo and announcements of the deployment. */
export function Appearance() {
  const { data, error } = useQuery(appearance);
  if (error) return <Refusal error={error} />;
  return data ? <Form now={data} /> : <Loading />;
}

function Form({ now }: { now: Config }) {
  const client = useQueryClient();
  const [name, setName] = useState(now.application_name);
  const [logo, setLogo] = useState(now.logo_url);
  const [banners, setBanners] = useState(now.announcement_banners ?? []);
  const change = (i: number, part: Partial<Schema<'BannerConfig'>>) => setBanners((all) => all.map((b, at) => (at === i ? { ...b, ...part } : b)));
  const save = useMutation({
    mutationFn: () =>
      api.put('/appearance', { body: { application_name: name, logo_url: logo, announcement_banners: banners, service_banner: banners[0] ?? { enabled: false } } }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: appearance.queryKey });
      praise('Everybody sees it from now on');
    },
  });
  return (
    <form
      onSubmit={(e: FormEvent) => {
        e.preventDefault();
        save.mutate();
      }}
    >
      <Stack maw={720}>
        <Refusal error={save.error} />
        <TextInput label="Name of the deployment" description="It stands on the login page." value={name} onChange={(e) => setName(e.currentTarget.value)} error={fieldError(save.error, 'application_name')} />
        <TextInput label="Address of a logo" value={logo} onChange={(e) => setLogo(e.currentTarget.value)} error={fieldError(save.error, 'logo_url')} />
        <Text size="sm" fw={500}>
          Announcements
        </Text>
        {banners.map((b, i) => (
          <Paper withBorder p="md" key={i}>
            <Stack gap="xs">
              <TextInput label="Message" value={b.message ?? ''} onChange={(e) => change(i, { message: e.currentTarget.value })} />
              <Group justify="space-between" align="flex-end">
                <ColorInput label="Background" format="hex" value={b.background_color ?? ''} onChange={(v) => change(i, { background_color: v })} />
                <Switch label="Shown" checked={b.enabled} onChange={(e) => change(i, { enabled: e.currentTarget.checked })} />
                <ActionIcon variant="subtle" color="red" aria-label={`Remove announcement ${i + 1}`} onClick={() => setBanners((all) => all.filter((_, at) => at !== i))}>
                  <IconTrash size={16} />
                </ActionIcon>
              </Group>
            </Stack>
          </Paper>
        ))}
        <Group>
          <Button variant="default" leftSection={<IconPlus size={16} />} onClick={() => setBanners((all) => [...all, { enabled: true, message: '', background_color: '#0b7285' }])}>
            Add an announcement
          </Button>
          <Button type="submit" loading={save.isPending}>
            Save
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
