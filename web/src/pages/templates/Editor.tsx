import { Alert, Anchor, Badge, Box, Button, Grid, Group, Modal, Paper, Stack, Text, TextInput, Textarea } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type FormEvent, Suspense, lazy, useState } from 'react';
import { api } from '../../api/client';
import { useLive } from '../../api/live';
import { Loading } from '../../parts/Loading';
import { Page } from '../../parts/Page';
import { Refusal, fieldError } from '../../parts/Refusal';
import { praise } from '../../parts/confirm';
import { NoText } from './Files';
import { Import } from './Import';
import { Tree } from './Tree';
import { VariableFields, given } from './Variables';
import { type Entry, textOf, writeTar } from './archive';
import { type Template, type Version, filesQuery, templateQuery, unfinished, upload, useVersion, variablesQuery, versionQuery } from './data';
import { draftBase, forget, useDraft, useOtherTabs } from './draft';
import { plural } from '../../parts/plural';

const Code = lazy(() => import('./Code'));

/** Editing a template's files: build a version of them, see its import, publish it. */
export default function Editor() {
  const { organization, template: name } = useParams({ from: '/shell/templates/$organization/$template/edit' });
  const { version } = useSearch({ from: '/shell/templates/$organization/$template/edit' });
  const { data: t, error } = useQuery(templateQuery(organization, name));
  useLive(['template'], ['template', organization, name]);
  if (error) {
    return (
      <Page title={name}>
        <Refusal error={error} />
      </Page>
    );
  }
  return t ? <OfTemplate key={`${t.id} ${version}`} t={t} asked={version} /> : <Loading />;
}

function OfTemplate({ t, asked }: { t: Template; asked?: string }) {
  const [base] = useState(() => asked ?? draftBase(t.id) ?? t.active_version_id); // does not move under one's hands
  const version = useQuery(versionQuery(base));
  const files = useQuery(filesQuery(version.data?.job.file_id));
  const error = version.error ?? files.error;
  if (error) {
    return (
      <Page title={t.display_name || t.name}>
        <Refusal error={error} />
      </Page>
    );
  }
  return version.data && files.data ? <Desk t={t} base={version.data} original={files.data} /> : <Loading />;
}

function Desk({ t, base, original }: { t: Template; base: Version; original: Entry[] }) {
  const draft = useDraft(t.id, base.id, original);
  const tabs = useOtherTabs(t.id);
  const [startedWith] = useState(t.active_version_id);
  const [path, setPath] = useState(() => (original.find((f) => f.path === 'main.tf') ?? original[0])?.path ?? '');
  const [values, setValues] = useState<Record<string, string>>({});
  const [built, setBuilt] = useState<{ id: string; of: Entry[] }>();
  const [asks, ask] = useDisclosure();
  const made = useVersion(built?.id ?? '').data;
  const failed = made?.job.status === 'failed';
  const variables = useQuery({ ...variablesQuery(built?.id ?? ''), enabled: failed });
  const build = useMutation({
    mutationFn: async (of: Entry[]) => {
      const file = await upload(writeTar(of));
      const v = await api.post('/organizations/{organization}/templateversions', {
        path: { organization: t.organization_id },
        body: { template_id: t.id, file_id: file, storage_method: 'file', provisioner: t.provisioner, user_variable_values: given(variables.data ?? [], values) },
      });
      return { id: v.id, of };
    },
    onSuccess: setBuilt,
  });
  const file = draft.files.find((f) => f.path === path);
  const text = file && textOf(file.data);
  const type = (next: string) =>
    draft.setFiles((all) => all.map((f) => (f.path === path ? { ...f, data: new TextEncoder().encode(next) } : f)));
  const building = build.isPending || (made !== undefined && unfinished(made.job));
  const ready = made?.job.status === 'succeeded' && built?.of === draft.files;
  return (
    <Page
      title={`Edit ${t.display_name || t.name}`}
      hint={
        <>
          <Anchor component={Link} to={`/templates/${t.organization_name}/${t.name}`} size="sm" underline="always">
            Back to the template
          </Anchor>{' '}
          · from version {base.name} · {draft.changed === 0 ? 'nothing changed' : `${plural(draft.changed, 'file')} changed`}
        </>
      }
      actions={
        <>
          {draft.changed > 0 && (
            <Button variant="subtle" color="red" onClick={draft.discard}>
              Discard
            </Button>
          )}
          <Button variant={ready ? 'default' : 'filled'} loading={building} onClick={() => build.mutate(draft.files)}>
            Build
          </Button>
          <Button onClick={ask.open} disabled={!ready || made?.id === t.active_version_id}>
            Publish …
          </Button>
        </>
      }
    >
      <Stack>
        <Warnings t={t} tabs={tabs} moved={t.active_version_id !== startedWith && t.active_version_id !== made?.id} restored={draft.restored} unkept={draft.unkept} />
        <Refusal error={build.error} />
        <Grid>
          <Grid.Col span={{ base: 12, md: 3 }}>
            <Tree files={draft.files} original={original} path={path} onOpen={setPath} onChange={draft.setFiles} />
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 9 }}>
            <Paper withBorder style={{ overflow: 'hidden' }}>
              {!file && (
                <Text p="md" c="dimmed" size="sm">
                  Choose a file.
                </Text>
              )}
              {file && text === undefined && <NoText data={file.data} />}
              {file && text !== undefined && (
                <Suspense fallback={<Loading />}>
                  <Box h="60vh">
                    <Code path={path} value={text} onChange={type} />
                  </Box>
                </Suspense>
              )}
            </Paper>
          </Grid.Col>
        </Grid>
        {made && (
          <section aria-label="Build">
            <Stack gap="sm">
              <Group gap="xs">
                <Text fw={600}>Version {made.name}</Text>
                {made.id === t.active_version_id && <Badge>active</Badge>}
                {made.job.status === 'succeeded' && built?.of !== draft.files && (
                  <Text size="sm" c="dimmed">
                    You have changed files since; build again to publish them.
                  </Text>
                )}
              </Group>
              {failed && variables.data && variables.data.length > 0 && (
                <Paper withBorder p="md">
                  <Stack>
                    <VariableFields variables={variables.data} values={values} onChange={setValues} />
                  </Stack>
                </Paper>
              )}
              <Import v={made} />
            </Stack>
          </section>
        )}
      </Stack>
      <Modal opened={asks} onClose={ask.close} title="Publish">
        {made && <Publish t={t} v={made} moved={t.active_version_id !== startedWith} />}
      </Modal>
    </Page>
  );
}

function Warnings({ t, tabs, moved, restored, unkept }: { t: Template; tabs: number; moved: boolean; restored: boolean; unkept: boolean }) {
  const active = useQuery({ ...versionQuery(t.active_version_id), enabled: moved });
  return (
    <>
      {tabs > 0 && (
        <Alert color="yellow" title="You edit this template in another tab too" role="alert">
          Each tab keeps its own changes and builds its own versions. Nothing is lost, but what is published last is what counts.
        </Alert>
      )}
      {moved && (
        <Alert color="yellow" title={`${active.data?.created_by.username ?? 'Somebody'} published ${active.data?.name ?? 'a version'} while you edit`} role="alert">
          Your changes are kept. Publishing them puts your version in its place;{' '}
          <Anchor component={Link} to={`/templates/${t.organization_name}/${t.name}/versions/${active.data?.name}`} target="_blank" inherit underline="always">
            see what changed
          </Anchor>{' '}
          first.
        </Alert>
      )}
      {restored && (
        <Alert color="blue" title="Your changes from before are back">
          They were not published. Discard begins again with the files as they are.
        </Alert>
      )}
      {unkept && (
        <Alert color="yellow" title="These changes are too large to be kept in the browser">
          Build them before you leave this page.
        </Alert>
      )}
    </>
  );
}

/** Names a version and makes it the one new workspaces use. */
function Publish({ t, v, moved }: { t: Template; v: Version; moved: boolean }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState(v.name);
  const [message, setMessage] = useState(v.message);
  const publish = useMutation({
    mutationFn: async () => {
      await api.patch('/templateversions/{templateversion}', { path: { templateversion: v.id }, body: { name, message } });
      await api.patch('/templates/{template}/versions', { path: { template: t.id }, body: { id: v.id, if_active_version_id: t.active_version_id } }); // what is said below to be replaced
    },
    onSuccess: async () => {
      forget(t.id);
      praise(`${name} is what new workspaces use from now on`);
      await client.invalidateQueries({ queryKey: ['template'] });
      await client.invalidateQueries({ queryKey: ['version', v.id] });
      await navigate({ to: '/templates/$organization/$template', params: { organization: t.organization_name, template: t.name }, ignoreBlocker: true });
    },
  });
  return (
    <form
      onSubmit={(e: FormEvent) => {
        e.preventDefault();
        publish.mutate();
      }}
    >
      <Stack>
        <Refusal error={publish.error} />
        {moved && <Alert color="yellow">Another version was published while you edited. This one takes its place; the other stays in the list of versions.</Alert>}
        <TextInput data-autofocus label="Name" required value={name} onChange={(e) => setName(e.currentTarget.value)} error={fieldError(publish.error, 'name')} />
        <Textarea label="What changed" autosize minRows={2} maxRows={8} value={message} onChange={(e) => setMessage(e.currentTarget.value)} error={fieldError(publish.error, 'message')} />
        <Button type="submit" loading={publish.isPending}>
          Publish
        </Button>
      </Stack>
    </form>
  );
}
