import { Anchor, Badge, Button, Group, Paper, SimpleGrid, Stack, Text } from '@mantine/core';
import { IconAlertCircle, IconClock, IconPlus, IconStack2, IconUsers } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Schema, api } from '../../api/client';
import { usePermissions } from '../../api/permissions';
import { EmptyState } from '../../components/EmptyState';
import { Icon } from '../../components/Icon';
import { ListToolbar, PagedList, usePagedQuery } from '../../components/PagedList';
import { Page } from '../../components/Page';
import { RelativeTime, formatDuration } from '../../components/time';
import { formatCount } from '../../lib/text';
import { isUnfinished } from './queries';

const size = 24;

/** The templates that the user can create workspaces from. */
export default function TemplateList() {
  const { q = '', page = 1 } = useSearch({ from: '/shell/templates' });
  const navigate = useNavigate({ from: '/templates' });
  const may = usePermissions();
  const list = usePagedQuery({
    key: ['templates'],
    filter: q,
    page,
    size,
    topics: ['template'],
    read: (part, signal) => api.get('/templates', { query: { q, ...part }, signal }),
  });
  const ids = list.data?.map((template) => template.id).join(',') ?? '';
  const { data: summaries } = useQuery({
    queryKey: ['templates', 'summaries', ids],
    queryFn: () => api.get('/templates/summaries', { query: { ids } }),
    enabled: ids !== '',
  });
  return (
    <Page
      title="Templates"
      actions={
        may.createTemplate && (
          <Button component={Link} to="/templates/new" variant="default" leftSection={<IconPlus size={16} />}>
            Create template
          </Button>
        )
      }
    >
      <ListToolbar
        label="Search templates"
        placeholder="name, organization:, deprecated: ..."
        value={q}
        onSearch={(next) => navigate({ search: { q: next || undefined }, replace: true })}
      />
      <PagedList
        list={list}
        rows={list.data?.length}
        page={page}
        size={size}
        of="templates"
        empty={
          <EmptyState
            title={q ? 'No templates found' : 'No templates yet'}
            hint={
              may.createTemplate
                ? 'A template defines the infrastructure of workspaces in Terraform. Start from a starter template.'
                : 'Ask a template admin to create one.'
            }
          >
            {may.createTemplate && !q && (
              <Button component={Link} to="/templates/new">
                Create template
              </Button>
            )}
          </EmptyState>
        }
      >
        <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
          {list.data?.map((template) => (
            <TemplateCard
              key={template.id}
              template={template}
              summary={summaries?.find((summary) => summary.template_id === template.id)}
            />
          ))}
        </SimpleGrid>
      </PagedList>
    </Page>
  );
}

function TemplateCard({
  template,
  summary,
}: {
  template: Schema<'Template'>;
  summary: Schema<'TemplateSummary'> | undefined;
}) {
  const name = template.display_name || template.name;
  const start = template.build_time_stats.start?.P50;
  return (
    <Paper withBorder p="md">
      <Stack h="100%" justify="space-between" gap="sm">
        <div>
          <Group wrap="nowrap" align="flex-start">
            <Icon src={template.icon} name={name} size={40} />
            <div style={{ minWidth: 0 }}>
              <Anchor
                component={Link}
                to={`/templates/${template.organization_name}/${template.name}`}
                fw={600}
                style={{ overflowWrap: 'anywhere' }}
              >
                {name}
              </Anchor>
              <Text size="xs" c="dimmed">
                {template.organization_display_name || template.organization_name} · updated{' '}
                <RelativeTime at={template.updated_at} />
              </Text>
            </div>
          </Group>
          <Text size="sm" mt="xs" lineClamp={3}>
            {template.description}
          </Text>
          {template.deprecated && (
            <Badge color="orange" mt="xs">
              Deprecated
            </Badge>
          )}
        </div>
        <Stack gap="sm">
          <LatestImport template={template} latest={summary?.latest_import} />
          <Group justify="space-between" gap="xs">
            <Group gap="md">
              <Fact
                icon={<IconUsers size={14} />}
                text={
                  template.active_user_count > 0
                    ? formatCount(template.active_user_count, 'developer')
                    : 'No active users'
                }
              />
              {summary && <Fact icon={<IconStack2 size={14} />} text={formatCount(summary.workspaces, 'workspace')} />}
              {start ? <Fact icon={<IconClock size={14} />} text={`Starts in about ${formatDuration(start)}`} /> : null}
            </Group>
            <Button
              component={Link}
              size="xs"
              to={`/templates/${template.organization_name}/${template.name}/workspace`}
              disabled={template.deprecated}
              aria-label={`Create workspace from ${name}`}
            >
              Create workspace
            </Button>
          </Group>
        </Stack>
      </Stack>
    </Paper>
  );
}

function Fact({ icon, text }: { icon: ReactNode; text: string }) {
  return (
    <Group gap={4} wrap="nowrap" c="dimmed">
      {icon}
      <Text size="xs" style={{ whiteSpace: 'nowrap' }}>
        {text}
      </Text>
    </Group>
  );
}

/** The import of the newest version, if it runs or failed. A user who cannot update the template does not see it. */
function LatestImport({
  template,
  latest,
}: {
  template: Schema<'Template'>;
  latest: Schema<'TemplateImport'> | null | undefined;
}) {
  if (!latest || latest.status === 'succeeded') return null;
  const version = `/templates/${template.organization_name}/${template.name}/versions/${latest.version_name}`;
  const failed = latest.status === 'failed';
  return (
    <Group gap={6} wrap="nowrap" align="flex-start" c={failed ? 'var(--mantine-color-error)' : 'dimmed'}>
      {failed && <IconAlertCircle size={16} style={{ flexShrink: 0, marginTop: 2 }} />}
      <div style={{ minWidth: 0 }}>
        <Text size="xs" inherit fz="xs">
          {isUnfinished(latest) ? 'Importing version ' : `Import ${latest.status}: version `}
          <Anchor component={Link} to={`${version}?tab=log`} inherit underline="always">
            {latest.version_name}
          </Anchor>
        </Text>
        {latest.error && (
          <Text size="xs" lineClamp={2} title={latest.error} style={{ overflowWrap: 'anywhere' }}>
            {latest.error}
          </Text>
        )}
      </div>
    </Group>
  );
}
