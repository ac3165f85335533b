import { Anchor, Badge, Box, Button, Group, Paper, Select, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type ReactNode, Suspense } from 'react';
import { api } from '../../api/client';
import { Loading } from '../../components/Loading';
import { Page } from '../../components/Page';
import { PageTabs } from '../../components/PageTabs';
import { capitalize } from '../../lib/text';
import { ErrorAlert } from '../../components/ErrorAlert';
import { notifyError } from '../../components/confirm';
import { RelativeTime } from '../../components/time';
import { lazyComponent } from '../../components/lazyComponent';
import VersionFiles, { BinaryFile } from './Files';
import { VersionImport } from './VersionImport';
import { VersionResources } from './Overview';
import { ImportBadge, usePublish } from './VersionList';
import { diffEntries, decodeText } from './archive';
import {
  type Template,
  type Version as V,
  filesQuery,
  predecessorQuery,
  templateQuery,
  useTemplateRights,
  useVersion,
  versionQuery,
  versionsQuery,
} from './queries';
import type { VersionTab } from './tabs';

const Code = lazyComponent(() => import('./CodeEditor'));

const tabs: { tab: VersionTab; title: string; needs?: 'update' }[] = [
  { tab: 'changes', title: 'Changes', needs: 'update' },
  { tab: 'files', title: 'Files', needs: 'update' },
  { tab: 'log', title: 'Import' },
];

/** A template version: changes, files and import. */
export default function VersionPage() {
  const {
    organization,
    template: name,
    version,
  } = useParams({ from: '/shell/templates/$organization/$template/versions/$version' });
  const {
    tab = 'changes',
    file,
    line,
  } = useSearch({ from: '/shell/templates/$organization/$template/versions/$version' });
  const navigate = useNavigate({ from: '/templates/$organization/$template/versions/$version' });
  const t = useQuery(templateQuery(organization, name));
  const found = useQuery({
    queryKey: ['version', organization, name, version],
    queryFn: () =>
      api.get('/organizations/{organization}/templates/{templatename}/versions/{templateversionname}', {
        path: { organization, templatename: name, templateversionname: version },
      }),
  });
  const { data: templateVersion } = useVersion(found.data?.id ?? '');
  const may = useTemplateRights(t.data);
  const publish = usePublish(t.data);
  const error = t.error ?? found.error;
  if (error) {
    return (
      <Page title={version}>
        <ErrorAlert error={error} />
      </Page>
    );
  }
  if (!t.data || !templateVersion) return <Loading />;
  const panels: Record<VersionTab, () => ReactNode> = {
    changes: () => <VersionChanges template={t.data} version={templateVersion} />,
    files: () => <VersionFiles key={`${file} ${line}`} version={templateVersion.id} file={file} line={line} />,
    log: () => (
      <Stack>
        <VersionImport version={templateVersion} template={may.update ? { organization, template: name } : undefined} />
        {templateVersion.job.status === 'succeeded' && <VersionResources version={templateVersion.id} />}
      </Stack>
    ),
  };
  const active = templateVersion.id === t.data.active_version_id;
  return (
    <Page
      title={templateVersion.name}
      hint={
        <Group component="span" gap="xs">
          <Anchor component={Link} to={`/templates/${organization}/${name}?tab=versions`} size="sm" underline="always">
            {t.data.display_name || t.data.name}
          </Anchor>
          {active ? <Badge>Active</Badge> : <ImportBadge version={templateVersion} />}
          <span>
            by {templateVersion.created_by.username}, <RelativeTime at={templateVersion.created_at} />
          </span>
        </Group>
      }
      actions={
        may.update && (
          <>
            <Button
              component={Link}
              to={`/templates/${organization}/${name}/edit?version=${templateVersion.id}`}
              variant="default"
            >
              Edit files
            </Button>
            {!active && templateVersion.job.status === 'succeeded' && (
              <Button
                onClick={() => publish.mutate(templateVersion, { onError: notifyError })}
                loading={publish.isPending}
              >
                Publish
              </Button>
            )}
          </>
        )
      }
    >
      {templateVersion.message && (
        <Text mb="md" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {templateVersion.message}
        </Text>
      )}
      <PageTabs
        tabs={tabs.filter((x) => !x.needs || may[x.needs])}
        value={may.known && !may.update ? 'log' : tab}
        permissions={may}
        onGo={(to) =>
          void navigate({ search: (s) => ({ ...s, tab: to === 'changes' ? undefined : to }), replace: true })
        }
        show={(at) => panels[at]()}
      />
    </Page>
  );
}

/** The changes since another version, by default the previous one. */
function VersionChanges({ template, version }: { template: Template; version: V }) {
  const { from } = useSearch({ from: '/shell/templates/$organization/$template/versions/$version' });
  const navigate = useNavigate({ from: '/templates/$organization/$template/versions/$version' });
  const { data: list = [] } = useQuery(versionsQuery(template.id, 1, 100));
  const predecessor = useQuery(predecessorQuery(template.id, version.id));
  const others = list.filter((templateVersion) => templateVersion.id !== version.id);
  const base = others.find((templateVersion) => templateVersion.name === from) ?? predecessor.data ?? undefined;
  const before = useQuery(versionQuery(base?.id ?? ''));
  const now = useQuery(filesQuery(version.job.file_id));
  const then = useQuery(filesQuery(before.data?.job.file_id));
  const error = now.error ?? then.error ?? before.error ?? predecessor.error;
  if (error) return <ErrorAlert error={error} />;
  const rows =
    now.data && (then.data || (!base && predecessor.isSuccess)) ? diffEntries(then.data ?? [], now.data) : undefined;
  return (
    <Stack>
      {others.length > 0 && (
        <Group align="flex-end">
          <VersionSelect
            label="Compare"
            template={template}
            versions={others}
            value={base?.name}
            placeholder="No previous version"
            onChange={(to) => void navigate({ search: (s) => ({ ...s, from: to }), replace: true })}
          />
          <VersionSelect
            label="With"
            template={template}
            versions={list}
            value={version.name}
            onChange={(to) =>
              void navigate({
                params: (p) => ({ ...p, version: to }),
                search: (s) => ({ ...s, from: base && base.name !== to ? base.name : undefined }),
              })
            }
          />
        </Group>
      )}
      {!rows && <Loading />}
      {rows?.length === 0 && <Text c="dimmed">No changes</Text>}
      {rows?.map((change) => {
        const [a, b] = [decodeText(change.from), decodeText(change.to)];
        return (
          <Paper withBorder key={change.path} component="section" aria-label={change.path}>
            <Group p="xs" gap="xs">
              <Badge color={change.kind === 'added' ? 'green' : change.kind === 'removed' ? 'red' : 'blue'}>
                {capitalize(change.kind)}
              </Badge>
              <Text ff="monospace" size="sm" style={{ overflowWrap: 'anywhere' }}>
                {change.path}
              </Text>
            </Group>
            {a === undefined || b === undefined ? (
              <BinaryFile data={change.to} />
            ) : (
              <Suspense fallback={<Loading />}>
                <Box mah="60vh" style={{ overflow: 'auto' }}>
                  {change.kind === 'changed' ? (
                    <Code path={change.path} value={b} original={a} />
                  ) : (
                    <Code path={change.path} value={change.kind === 'added' ? b : a} />
                  )}
                </Box>
              </Suspense>
            )}
          </Paper>
        );
      })}
    </Stack>
  );
}

interface VersionSelectProps {
  label: string;
  template: Template;
  versions: V[];
  value: string | undefined;
  placeholder?: string;
  onChange: (name: string) => void;
}

/** Selects one of the newest versions of a template. */
function VersionSelect({ label, template, versions, value, placeholder, onChange }: VersionSelectProps) {
  const names = versions.map((v) => v.name);
  const data = versions.map((v) => ({
    value: v.name,
    label: v.id === template.active_version_id ? `${v.name} (active)` : v.name,
  }));
  if (value !== undefined && !names.includes(value)) data.push({ value, label: value });
  return (
    <Select
      label={label}
      w={240}
      searchable
      allowDeselect={false}
      placeholder={placeholder}
      data={data}
      value={value ?? null}
      onChange={(name) => name && onChange(name)}
    />
  );
}
