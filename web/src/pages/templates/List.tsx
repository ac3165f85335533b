import { Anchor, Badge, Button, Group, Paper, SimpleGrid, Stack, Text } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type Schema, api } from '../../api/client';
import { usePermissions } from '../../api/permissions';
import { Empty } from '../../parts/Empty';
import { Icon } from '../../parts/Icon';
import { Find, Listing, useList } from '../../parts/Listing';
import { Page } from '../../parts/Page';
import { Moment } from '../../parts/time';
import { plural } from '../../parts/plural';

const size = 24;

/** The templates one may use, to make a workspace of. */
export default function List() {
  const { q = '', page = 1 } = useSearch({ from: '/shell/templates' });
  const navigate = useNavigate({ from: '/templates' });
  const may = usePermissions();
  const list = useList({ key: ['templates'], filter: q, page, size, topics: ['template'], read: (part, signal) => api.get('/templates', { query: { q, ...part }, signal }) });
  return (
    <Page
      title="Templates"
      actions={
        may.createTemplate && (
          <Button component={Link} to="/templates/new" variant="default" leftSection={<IconPlus size={16} />}>
            New template
          </Button>
        )
      }
    >
      <Find label="Search templates" placeholder="name, organization:, deprecated: ..." value={q} onSeek={(next) => navigate({ search: { q: next || undefined }, replace: true })} />
      <Listing
        list={list}
        rows={list.data?.length}
        page={page}
        size={size}
        of="templates"
        empty={
          <Empty
            title={q ? 'No template matches' : 'There is no template yet'}
            hint={may.createTemplate ? 'A template says in Terraform what a workspace is made of. Begin with a starter.' : 'Ask somebody who administers templates to make one.'}
          />
        }
      >
        <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
          {list.data?.map((t) => (
            <Card key={t.id} t={t} />
          ))}
        </SimpleGrid>
      </Listing>
    </Page>
  );
}

function Card({ t }: { t: Schema<'Template'> }) {
  return (
    <Paper withBorder p="md">
      <Stack h="100%" justify="space-between">
        <div>
          <Group wrap="nowrap" align="flex-start">
            <Icon src={t.icon} name={t.display_name || t.name} size={40} />
            <div>
              <Anchor component={Link} to={`/templates/${t.organization_name}/${t.name}`} fw={600}>
                {t.display_name || t.name}
              </Anchor>
              <Text size="xs" c="dimmed">
                {t.organization_display_name || t.organization_name} · {t.active_user_count > 0 ? plural(t.active_user_count, 'developer') : 'nobody uses it now'}
              </Text>
            </div>
          </Group>
          <Text size="sm" mt="xs" lineClamp={3}>
            {t.description}
          </Text>
          {t.deprecated && (
            <Badge color="orange" variant="light" mt="xs">
              deprecated
            </Badge>
          )}
        </div>
        <Group justify="space-between">
          <Text size="xs" c="dimmed">
            updated <Moment at={t.updated_at} />
          </Text>
          <Button
            component={Link}
            size="xs"
            to={`/templates/${t.organization_name}/${t.name}/workspace`}
            disabled={t.deprecated}
            aria-label={`Create a workspace of ${t.display_name || t.name}`}
          >
            Create
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}
