import { Button, FileButton, Group, Paper, SimpleGrid, Stack, Text, Title, UnstyledButton } from '@mantine/core';
import { IconUpload } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { Icon } from '../../components/Icon';
import { Loading } from '../../components/Loading';
import { Restricted } from '../../components/Refusal';
import { Page } from '../../components/Page';
import { ErrorAlert } from '../../components/ErrorAlert';
import { CreateTemplateForm } from './CreateTemplateForm';

/** Creates a template from a starter or an uploaded archive. */
export default function CreateTemplate() {
  return (
    <Restricted permission="createTemplate" title="Create template" needs="the role Template Admin">
      <Creation />
    </Restricted>
  );
}

function Creation() {
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
        title="Create template"
        wide={!file}
        hint={file ? `From ${file.name}` : `From starter ${chosen?.name}`}
        actions={
          <Button variant="default" onClick={back}>
            Change source
          </Button>
        }
      >
        <CreateTemplateForm
          key={file?.name ?? chosen?.id}
          source={file ? { file } : { example: chosen as Schema<'TemplateExample'> }}
        />
      </Page>
    );
  }
  return (
    <Page title="Create template" hint="A template defines the infrastructure of workspaces in Terraform.">
      <Stack gap="lg">
        <Group>
          <FileButton onChange={setFile} accept=".tar,.zip,application/x-tar,application/zip">
            {(props) => (
              <Button {...props} variant="default" leftSection={<IconUpload size={16} />}>
                Upload archive
              </Button>
            )}
          </FileButton>
          <Text size="sm" c="dimmed">
            A .tar or .zip file with main.tf at its root
          </Text>
        </Group>
        <ErrorAlert error={starters.error} />
        {starters.isPending && <Loading />}
        {groups.map(([title, belongs]) => {
          const members = (starters.data ?? []).filter(belongs);
          return (
            members.length > 0 && (
              <section key={title} aria-label={title}>
                <Title order={2} mb="sm">
                  {title}
                </Title>
                <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
                  {members.map((starter) => (
                    <Starter
                      key={starter.id}
                      starter={starter}
                      onChoose={() => navigate({ search: { starter: starter.id } })}
                    />
                  ))}
                </SimpleGrid>
              </section>
            )
          );
        })}
      </Stack>
    </Page>
  );
}

type Example = Schema<'TemplateExample'>;

const hasTag = (starter: Example, tag: string): boolean => starter.tags.includes(tag);

const groups: [string, (starter: Example) => boolean][] = [
  ['Containers', (starter) => hasTag(starter, 'container')],
  ['Virtual machines', (starter) => hasTag(starter, 'vm')],
  ['Existing machines', (starter) => !hasTag(starter, 'container') && !hasTag(starter, 'vm')],
];

function Starter({ starter, onChoose }: { starter: Example; onChoose: () => void }) {
  return (
    <UnstyledButton onClick={onChoose}>
      <Paper withBorder p="md" h="100%">
        <Group wrap="nowrap" align="flex-start">
          <Icon src={starter.icon} name={starter.name} size={40} />
          <div>
            <Text fw={600}>{starter.name}</Text>
            <Text size="sm" c="dimmed">
              {starter.description}
            </Text>
          </div>
        </Group>
      </Paper>
    </UnstyledButton>
  );
}
