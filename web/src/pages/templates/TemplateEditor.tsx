import {
  Alert,
  Anchor,
  Badge,
  Box,
  Button,
  Grid,
  Group,
  Modal,
  Paper,
  Stack,
  Text,
  TextInput,
  Textarea,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { Suspense, useMemo, useState } from 'react';
import { api } from '../../api/client';
import { useLiveUpdates } from '../../api/live';
import { Form } from '../../components/Form';
import { Loading } from '../../components/Loading';
import { Page } from '../../components/Page';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';
import { notifyError, notifySuccess } from '../../components/confirm';
import { BinaryFile } from './Files';
import { VersionImport } from './VersionImport';
import { FileTree } from './FileTree';
import { FileSearch, FormPreview, Outline, Problems } from './EditorPanels';
import { importProblem, useSourceCheck } from './sourceCheck';
import { VariableFields, toVariableValues } from './Variables';
import { type Entry, decodeText, writeTar } from './archive';
import {
  type Template,
  type Version,
  filesQuery,
  templateQuery,
  isUnfinished,
  uploadSource,
  useVersion,
  variablesQuery,
  versionQuery,
} from './queries';
import { getDraftBase, deleteDraft, useDraft, useOtherTabs } from './draft';
import { formatCount } from '../../lib/text';
import { lazyComponent } from '../../components/lazyComponent';

const Code = lazyComponent(() => import('./CodeEditor'));

/** The template editor: edit files, build a version and publish it. */
export default function TemplateEditor() {
  const { organization, template: name } = useParams({ from: '/shell/templates/$organization/$template/edit' });
  const { version } = useSearch({ from: '/shell/templates/$organization/$template/edit' });
  const { data: template, error } = useQuery(templateQuery(organization, name));
  useLiveUpdates(['template'], ['template', organization, name]);
  if (error) {
    return (
      <Page title={name}>
        <ErrorAlert error={error} />
      </Page>
    );
  }
  return template ? (
    <EditorLoader key={`${template.id} ${version}`} template={template} asked={version} />
  ) : (
    <Loading />
  );
}

function EditorLoader({ template, asked }: { template: Template; asked?: string }) {
  // The base stays the same while the user edits.
  const [base] = useState(() => asked ?? getDraftBase(template.id) ?? template.active_version_id);
  const version = useQuery(versionQuery(base));
  const files = useQuery(filesQuery(version.data?.job.file_id));
  const error = version.error ?? files.error;
  if (error) {
    return (
      <Page title={template.display_name || template.name}>
        <ErrorAlert error={error} />
      </Page>
    );
  }
  return version.data && files.data ? (
    <EditorWorkbench template={template} base={version.data} original={files.data} />
  ) : (
    <Loading />
  );
}

function EditorWorkbench({ template, base, original }: { template: Template; base: Version; original: Entry[] }) {
  const draft = useDraft(template.id, base.id, original);
  const tabs = useOtherTabs(template.id);
  const [startedWith] = useState(template.active_version_id);
  const [path, setPath] = useState(
    () => (original.find((entry) => entry.path === 'main.tf') ?? original[0])?.path ?? '',
  );
  const [target, setTarget] = useState<{ line: number }>();
  const [form, setForm] = useState(false);
  const [inputs, setInputs] = useState<Record<string, string>>({});
  const check = useSourceCheck(template, draft.files, inputs);
  const open = (next: string, at?: number) => {
    setPath(next);
    setTarget(at === undefined ? undefined : { line: at });
  };
  const [values, setValues] = useState<Record<string, string>>({});
  const [built, setBuilt] = useState<{ id: string; of: Entry[] }>();
  const [asks, ask] = useDisclosure();
  const made = useVersion(built?.id ?? '').data;
  const failed = made?.job.status === 'failed';
  const variables = useQuery({ ...variablesQuery(built?.id ?? ''), enabled: failed });
  const build = useMutation({
    mutationFn: async (of: Entry[]) => {
      const file = await uploadSource(writeTar(of));
      const version = await api.post('/organizations/{organization}/templateversions', {
        path: { organization: template.organization_id },
        body: {
          template_id: template.id,
          file_id: file,
          storage_method: 'file',
          provisioner: template.provisioner,
          user_variable_values: toVariableValues(variables.data ?? [], values),
        },
      });
      return { id: version.id, of };
    },
    onSuccess: setBuilt,
  });
  const file = draft.files.find((entry) => entry.path === path);
  const text = file && decodeText(file.data);
  const type = (next: string) =>
    draft.setFiles((all) =>
      all.map((entry) => (entry.path === path ? { ...entry, data: new TextEncoder().encode(next) } : entry)),
    );
  const format = useMutation({
    mutationFn: async () => (await api.post('/templates/format', { body: { content: text ?? '' } })).content,
    onSuccess: (next) => type(next),
    onError: notifyError,
  });
  const failure = failed && built?.of === draft.files ? made.job.error : ''; // is about the files that were built
  const problems = useMemo(
    () => [...(failure ? [importProblem(failure)] : []), ...(check.data?.diagnostics ?? [])],
    [failure, check.data],
  );
  const shown = useMemo(() => problems.filter((problem) => problem.path === path), [problems, path]);
  const building = build.isPending || (made !== undefined && isUnfinished(made.job));
  const ready = made?.job.status === 'succeeded' && built?.of === draft.files;
  return (
    <Page
      title={`Edit ${template.display_name || template.name}`}
      hint={
        <>
          <Anchor
            component={Link}
            to={`/templates/${template.organization_name}/${template.name}`}
            size="sm"
            underline="always"
          >
            Back to template
          </Anchor>{' '}
          · based on version {base.name} ·{' '}
          {draft.changed === 0 ? 'no changes' : `${formatCount(draft.changed, 'file')} changed`}
        </>
      }
      actions={
        <>
          <Button variant="default" aria-pressed={form} onClick={() => setForm(!form)}>
            {form ? 'Hide form' : 'Preview form'}
          </Button>
          {/\.tf$/.test(path) && text !== undefined && (
            <Button variant="default" loading={format.isPending} onClick={() => format.mutate()}>
              Format
            </Button>
          )}
          {draft.changed > 0 && (
            <Button variant="subtle" color="red" onClick={draft.discard}>
              Discard changes
            </Button>
          )}
          <Button variant={ready ? 'default' : 'filled'} loading={building} onClick={() => build.mutate(draft.files)}>
            Build version
          </Button>
          <Button onClick={ask.open} disabled={!ready || made?.id === template.active_version_id}>
            Publish…
          </Button>
        </>
      }
    >
      <Stack>
        <EditorWarnings
          template={template}
          tabs={tabs}
          moved={template.active_version_id !== startedWith && template.active_version_id !== made?.id}
          restored={draft.restored}
          unkept={draft.storeFailed}
        />
        <ErrorAlert error={build.error} />
        <Grid>
          <Grid.Col span={{ base: 12, md: 3 }}>
            <Stack gap="sm">
              <FileTree files={draft.files} original={original} path={path} onOpen={open} onChange={draft.setFiles} />
              <FileSearch files={draft.files} onOpen={open} />
              <Outline blocks={(check.data?.blocks ?? []).filter((block) => block.path === path)} onOpen={open} />
            </Stack>
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: form ? 5 : 9 }}>
            <Paper withBorder style={{ overflow: 'hidden' }}>
              {!file && (
                <Text p="md" c="dimmed" size="sm">
                  Select a file
                </Text>
              )}
              {file && text === undefined && <BinaryFile data={file.data} />}
              {file && text !== undefined && (
                <Suspense fallback={<Loading />}>
                  <Box h="60vh">
                    <Code path={path} value={text} target={target} problems={shown} onChange={type} />
                  </Box>
                </Suspense>
              )}
            </Paper>
          </Grid.Col>
          {form && (
            <Grid.Col span={{ base: 12, md: 4 }}>
              <FormPreview parameters={check.data?.parameters ?? []} values={inputs} onChange={setInputs} />
            </Grid.Col>
          )}
        </Grid>
        <ErrorAlert error={check.error} />
        {check.data && <Problems problems={problems} onOpen={open} />}
        {made && (
          <section aria-label="Build">
            <Stack gap="sm">
              <Group gap="xs">
                <Text fw={600}>Version {made.name}</Text>
                {made.id === template.active_version_id && <Badge>Active</Badge>}
                {made.job.status === 'succeeded' && built?.of !== draft.files && (
                  <Text size="sm" c="dimmed">
                    Files changed since this build. Build again to publish them.
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
              <VersionImport version={made} />
            </Stack>
          </section>
        )}
      </Stack>
      <Modal opened={asks} onClose={ask.close} title="Publish version">
        {made && <PublishForm template={template} version={made} moved={template.active_version_id !== startedWith} />}
      </Modal>
    </Page>
  );
}

function EditorWarnings({
  template,
  tabs,
  moved,
  restored,
  unkept,
}: {
  template: Template;
  tabs: number;
  moved: boolean;
  restored: boolean;
  unkept: boolean;
}) {
  const active = useQuery({ ...versionQuery(template.active_version_id), enabled: moved });
  return (
    <>
      {tabs > 0 && (
        <Alert color="yellow" title="This template is open in another tab" role="alert">
          Each tab has its own changes and builds its own versions. The version published last becomes active.
        </Alert>
      )}
      {moved && (
        <Alert
          color="yellow"
          title={`${active.data?.created_by.username ?? 'Another user'} published ${active.data?.name ?? 'a new version'}`}
          role="alert"
        >
          Your changes are kept. Publishing them replaces the active version.{' '}
          <Anchor
            component={Link}
            to={`/templates/${template.organization_name}/${template.name}/versions/${active.data?.name}`}
            target="_blank"
            inherit
            underline="always"
          >
            View its changes
          </Anchor>
        </Alert>
      )}
      {restored && (
        <Alert color="blue" title="Unpublished changes restored">
          Discard changes to start again from the published files.
        </Alert>
      )}
      {unkept && (
        <Alert color="yellow" title="Changes are too large to be stored in the browser">
          Build a version before you leave this page.
        </Alert>
      )}
    </>
  );
}

/** Names a version and makes it the active one. */
function PublishForm({ template, version, moved }: { template: Template; version: Version; moved: boolean }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState(version.name);
  const [message, setMessage] = useState(version.message);
  const publish = useMutation({
    mutationFn: async () => {
      await api.patch('/templateversions/{templateversion}', {
        path: { templateversion: version.id },
        body: { name, message },
      });
      await api.patch('/templates/{template}/versions', {
        path: { template: template.id },
        body: { id: version.id, if_active_version_id: template.active_version_id },
      }); // fails if another version was published meanwhile
    },
    onSuccess: async () => {
      deleteDraft(template.id);
      notifySuccess(`Version ${name} published`);
      await client.invalidateQueries({ queryKey: ['template'] });
      await client.invalidateQueries({ queryKey: ['version', version.id] });
      await navigate({
        to: '/templates/$organization/$template',
        params: { organization: template.organization_name, template: template.name },
        ignoreBlocker: true,
      });
    },
  });
  return (
    <Form
      error={publish.error}
      onSubmit={() => {
        publish.mutate();
      }}
    >
      <Stack>
        <ErrorAlert error={publish.error} />
        {moved && (
          <Alert color="yellow">
            Another version was published while you edited. Publishing replaces it as the active version.
          </Alert>
        )}
        <TextInput
          data-autofocus
          label="Name"
          required
          value={name}
          onChange={(e) => setName(e.currentTarget.value)}
          error={getFieldError(publish.error, 'name')}
        />
        <Textarea
          label="Message"
          autosize
          minRows={2}
          maxRows={8}
          value={message}
          onChange={(e) => setMessage(e.currentTarget.value)}
          error={getFieldError(publish.error, 'message')}
        />
        <Button type="submit" loading={publish.isPending}>
          Publish
        </Button>
      </Stack>
    </Form>
  );
}
