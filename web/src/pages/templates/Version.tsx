import { Anchor, Badge, Box, Button, Group, Paper, Select, Stack, Tabs, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { Suspense, lazy } from 'react';
import { api } from '../../api/client';
import { Loading } from '../../parts/Loading';
import { Page } from '../../parts/Page';
import { Refusal } from '../../parts/Refusal';
import { complain } from '../../parts/confirm';
import { Moment } from '../../parts/time';
import Files, { NoText } from './Files';
import { Import } from './Import';
import { Resources } from './Overview';
import { ImportBadge, usePublish } from './Versions';
import { changes, textOf } from './archive';
import { type Template, type Version as V, filesQuery, templateQuery, useTemplateRights, useVersion, versionQuery, versionsQuery } from './data';

const Code = lazy(() => import('./Code'));

/** One version of a template: what changed, its files, its import. */
export default function Version() {
  const { organization, template: name, version } = useParams({ from: '/shell/templates/$organization/$template/versions/$version' });
  const { tab = 'changes' } = useSearch({ from: '/shell/templates/$organization/$template/versions/$version' });
  const navigate = useNavigate({ from: '/templates/$organization/$template/versions/$version' });
  const t = useQuery(templateQuery(organization, name));
  const found = useQuery({
    queryKey: ['version', organization, name, version],
    queryFn: () =>
      api.get('/organizations/{organization}/templates/{templatename}/versions/{templateversionname}', {
        path: { organization, templatename: name, templateversionname: version },
      }),
  });
  const { data: v } = useVersion(found.data?.id ?? '');
  const may = useTemplateRights(t.data);
  const publish = usePublish(t.data);
  const error = t.error ?? found.error;
  if (error) {
    return (
      <Page title={version}>
        <Refusal error={error} />
      </Page>
    );
  }
  if (!t.data || !v) return <Loading />;
  const active = v.id === t.data.active_version_id;
  return (
    <Page
      title={v.name}
      hint={
        <Group component="span" gap="xs">
          <Anchor component={Link} to={`/templates/${organization}/${name}?tab=versions`} size="sm" underline="always">
            {t.data.display_name || t.data.name}
          </Anchor>
          {active ? <Badge>active</Badge> : <ImportBadge v={v} />}
          <span>
            by {v.created_by.username}, <Moment at={v.created_at} />
          </span>
        </Group>
      }
      actions={
        may.update && (
          <>
            <Button component={Link} to={`/templates/${organization}/${name}/edit?version=${v.id}`} variant="default">
              Edit files
            </Button>
            {!active && v.job.status === 'succeeded' && (
              <Button onClick={() => publish.mutate(v, { onError: complain })} loading={publish.isPending}>
                Publish
              </Button>
            )}
          </>
        )
      }
    >
      {v.message && (
        <Text mb="md" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {v.message}
        </Text>
      )}
      <Tabs value={may.update ? tab : 'log'} onChange={(to) => navigate({ search: (s) => ({ ...s, tab: to && to !== 'changes' ? to : undefined }), replace: true })} keepMounted={false}>
        <Tabs.List mb="md">
          {may.update && <Tabs.Tab value="changes">Changes</Tabs.Tab>}
          {may.update && <Tabs.Tab value="files">Files</Tabs.Tab>}
          <Tabs.Tab value="log">Import</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="changes">
          <Changes t={t.data} v={v} />
        </Tabs.Panel>
        <Tabs.Panel value="files">
          <Suspense fallback={<Loading />}>
            <Files version={v.id} />
          </Suspense>
        </Tabs.Panel>
        <Tabs.Panel value="log">
          <Stack>
            <Import v={v} />
            {v.job.status === 'succeeded' && <Resources version={v.id} />}
          </Stack>
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

/** What is different from another version, by default the one before. */
function Changes({ t, v }: { t: Template; v: V }) {
  const { from } = useSearch({ from: '/shell/templates/$organization/$template/versions/$version' });
  const navigate = useNavigate({ from: '/templates/$organization/$template/versions/$version' });
  const { data: list = [] } = useQuery(versionsQuery(t.id, 1, 100));
  const others = list.filter((x) => x.id !== v.id);
  const base = others.find((x) => x.name === from) ?? others.find((x) => x.created_at < v.created_at);
  const before = useQuery(versionQuery(base?.id ?? ''));
  const now = useQuery(filesQuery(v.job.file_id));
  const then = useQuery(filesQuery(before.data?.job.file_id));
  const error = now.error ?? then.error ?? before.error;
  if (error) return <Refusal error={error} />;
  const rows = now.data && (then.data || !base) ? changes(then.data ?? [], now.data) : undefined;
  return (
    <Stack>
      {others.length > 0 && (
        <Select
          label="Compared with"
          maw={360}
          searchable
          allowDeselect={false}
          placeholder="Nothing: this is the first"
          data={others.map((x) => ({ value: x.name, label: x.id === t.active_version_id ? `${x.name} (active)` : x.name }))}
          value={base?.name ?? null}
          onChange={(to) => navigate({ search: (s) => ({ ...s, from: to ?? undefined }), replace: true })}
        />
      )}
      {!rows && <Loading />}
      {rows?.length === 0 && <Text c="dimmed">The files are the same.</Text>}
      {rows?.map((c) => {
        const [a, b] = [textOf(c.from), textOf(c.to)];
        return (
          <Paper withBorder key={c.path} component="section" aria-label={c.path}>
            <Group p="xs" gap="xs">
              <Badge variant="light" color={c.kind === 'added' ? 'green' : c.kind === 'removed' ? 'red' : 'blue'}>
                {c.kind}
              </Badge>
              <Text ff="monospace" size="sm" style={{ overflowWrap: 'anywhere' }}>
                {c.path}
              </Text>
            </Group>
            {a === undefined || b === undefined ? (
              <NoText data={c.to} />
            ) : (
              <Suspense fallback={<Loading />}>
                <Box mah="60vh" style={{ overflow: 'auto' }}>
                  {c.kind === 'changed' ? <Code path={c.path} value={b} original={a} /> : <Code path={c.path} value={c.kind === 'added' ? b : a} />}
                </Box>
              </Suspense>
            )}
          </Paper>
        );
      })}
    </Stack>
  );
}
