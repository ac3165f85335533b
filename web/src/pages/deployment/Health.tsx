import { Anchor, Badge, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ErrorAlert } from '../../components/ErrorAlert';
import { Loading } from '../../components/Loading';
import { RelativeTime } from '../../components/time';
import { CheckButton, DismissButton } from '../../health/actions';
import { Findings, severityIcons } from '../../health/Findings';
import { healthReport } from '../../health/queries';
import { sections } from '../../health/sections';

const states = {
  ok: 'All checks passed.',
  warning: 'Some checks have warnings.',
  error: 'Some checks failed.',
};

/** The results of the server's health checks. Each section has its own page. */
export function DeploymentHealth() {
  const { data, error, isPending } = useQuery(healthReport);
  if (isPending) return <Loading />;
  if (!data) return <ErrorAlert error={error} />;
  return (
    <Stack>
      <Group justify="space-between">
        <Text>
          {states[data.severity]}{' '}
          <Text span size="sm" c="dimmed">
            Checked <RelativeTime at={data.time} />
          </Text>
        </Text>
        <CheckButton />
      </Group>
      {sections.map((definition) => {
        const section = definition.of(data);
        return (
          <Paper withBorder p="md" key={definition.name}>
            <Group justify="space-between" wrap="nowrap" align="flex-start">
              <Group wrap="nowrap" align="flex-start">
                {severityIcons[section.severity]}
                <div>
                  <Group gap="xs">
                    <Title order={2} size="h3">
                      <Anchor component={Link} to={`/deployment/health/${definition.path}`} inherit>
                        {definition.title}
                      </Anchor>
                    </Title>
                    {section.dismissed && <Badge color="gray">Dismissed</Badge>}
                  </Group>
                  <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                    {definition.summary(data)}
                  </Text>
                </div>
              </Group>
              <DismissButton definition={definition} section={section} />
            </Group>
            <Findings section={section} />
          </Paper>
        );
      })}
    </Stack>
  );
}
