import { Button, FileButton, Group, Paper, SimpleGrid, Stack, Text, Title, UnstyledButton } from '@mantine/core';
import { IconUpload } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Suspense, lazy, useState } from 'react';
import { type Schema, api } from '../../api/client';
import { Icon } from '../../parts/Icon';
import { Loading } from '../../parts/Loading';
import { Page } from '../../parts/Page';
import { Refusal } from '../../parts/Refusal';
import { CreateForm } from './CreateForm';

const Readme = lazy(() => import('./Markdown'));

/** Making a template: of a starter, or of files that one has. */
export default function Create() {
  const { starter } = useSearch({ from: '/shell/templates/new' });
  const navigate = useNavigate({ from: '/templates/new' });
  const [file, setFile] = useState<File | null>(null);
  const starters = useQuery({ queryKey: ['starters'], queryFn: () => api.get('/templates/examples') });
  const chosen = starters.data?.find((s) => s.id === starter);
  const back = () => {
    setFile(null);
    navigate({ search: {} });
  };
  if (file || chosen) {
    return (
      <Page
        title="New template"
        wide={false}
        hint={file ? `From ${file.name}` : `From the starter ${chosen?.name}`}
        actions={
          <Button variant="default" onClick={back}>
            Another source
          </Button>
        }
      >
        <Stack>
          <CreateForm key={file?.name ?? chosen?.id} source={file ? { file } : { example: chosen as Schema<'TemplateExample'> }} />
          {chosen?.markdown && (
            <Paper withBorder p="md">
              <Suspense fallback={<Loading />}>
                <Readme text={chosen.markdown} />
              </Suspense>
            </Paper>
          )}
        </Stack>
      </Page>
    );
  }
  return (
    <Page title="New template" hint="A template says in Terraform what a workspace is made of.">
      <Stack gap="lg">
        <Group>
          <FileButton onChange={setFile} accept=".tar,.zip,application/x-tar,application/zip">
            {(props) => (
              <Button {...props} variant="default" leftSection={<IconUpload size={16} />}>
                Upload a .tar or .zip
              </Button>
            )}
          </FileButton>
          <Text size="sm" c="dimmed">
            with a main.tf at its root
          </Text>
        </Group>
        <Title order={2}>Starters</Title>
        <Refusal error={starters.error} />
        {starters.isPending && <Loading />}
        <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
          {starters.data?.map((s) => (
            <UnstyledButton key={s.id} onClick={() => navigate({ search: { starter: s.id } })}>
              <Paper withBorder p="md" h="100%">
                <Group wrap="nowrap" align="flex-start">
                  <Icon src={s.icon} name={s.name} size={40} />
                  <div>
                    <Text fw={600}>{s.name}</Text>
                    <Text size="sm" c="dimmed">
                      {s.description}
                    </Text>
                    <Text size="xs" mt={6}>
                      {s.tags.join(', ')}
                    </Text>
                  </div>
                </Group>
              </Paper>
            </UnstyledButton>
          ))}
        </SimpleGrid>
      </Stack>
    </Page>
  );
}
