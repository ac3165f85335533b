import '@mantine/core/styles/ColorSwatch.css';
import '@mantine/core/styles/ColorPicker.css';
import '@mantine/core/styles/ColorInput.css';
import { ActionIcon, Button, ColorInput, Group, Paper, Stack, Switch, Text, TextInput } from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { appearance } from '../../api/queries';
import { Form } from '../../components/Form';
import { Loading } from '../../components/Loading';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';
import { notifySuccess } from '../../components/confirm';

type Config = Schema<'AppearanceConfig'>;

/** The name, logo and announcement banners of the deployment. */
export function DeploymentAppearance() {
  const { data, error } = useQuery(appearance);
  if (error) return <ErrorAlert error={error} />;
  return data ? <AppearanceForm now={data} /> : <Loading />;
}

function AppearanceForm({ now }: { now: Config }) {
  const client = useQueryClient();
  const [name, setName] = useState(now.application_name);
  const [logo, setLogo] = useState(now.logo_url);
  const [banners, setBanners] = useState(now.announcement_banners ?? []);
  const change = (i: number, part: Partial<Schema<'BannerConfig'>>) =>
    setBanners((all) => all.map((banner, at) => (at === i ? { ...banner, ...part } : banner)));
  const save = useMutation({
    mutationFn: () =>
      api.put('/appearance', {
        body: {
          application_name: name,
          logo_url: logo,
          announcement_banners: banners,
          service_banner: banners[0] ?? { enabled: false },
        },
      }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: appearance.queryKey });
      notifySuccess('Appearance saved');
    },
  });
  return (
    <Form
      error={save.error}
      onSubmit={() => {
        save.mutate();
      }}
    >
      <Stack maw={720}>
        <ErrorAlert error={save.error} />
        <TextInput
          label="Application name"
          description="Displayed on the sign-in page."
          value={name}
          onChange={(e) => setName(e.currentTarget.value)}
          error={getFieldError(save.error, 'application_name')}
        />
        <TextInput
          label="Logo URL"
          value={logo}
          onChange={(e) => setLogo(e.currentTarget.value)}
          error={getFieldError(save.error, 'logo_url')}
        />
        <Text size="sm" fw={500}>
          Announcement banners
        </Text>
        {banners.map((banner, i) => (
          <Paper withBorder p="md" key={i}>
            <Stack gap="xs">
              <TextInput
                label="Message"
                value={banner.message ?? ''}
                onChange={(e) => change(i, { message: e.currentTarget.value })}
              />
              <Group justify="space-between" align="flex-end">
                <ColorInput
                  label="Background color"
                  format="hex"
                  value={banner.background_color ?? ''}
                  onChange={(v) => change(i, { background_color: v })}
                />
                <Switch
                  label="Enabled"
                  checked={banner.enabled}
                  onChange={(e) => change(i, { enabled: e.currentTarget.checked })}
                />
                <ActionIcon
                  variant="subtle"
                  color="red"
                  aria-label={`Delete announcement banner ${i + 1}`}
                  onClick={() => setBanners((all) => all.filter((_, at) => at !== i))}
                >
                  <IconTrash size={16} />
                </ActionIcon>
              </Group>
            </Stack>
          </Paper>
        ))}
        <Group>
          <Button
            variant="default"
            leftSection={<IconPlus size={16} />}
            onClick={() => setBanners((all) => [...all, { enabled: true, message: '', background_color: '#0b7285' }])}
          >
            Add announcement banner
          </Button>
          <Button type="submit" loading={save.isPending}>
            Save
          </Button>
        </Group>
      </Stack>
    </Form>
  );
}
