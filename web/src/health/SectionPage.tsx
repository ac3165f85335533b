import { Anchor, Badge, Group, List, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Schema } from '../api/client';
import { ErrorAlert } from '../components/ErrorAlert';
import { Loading } from '../components/Loading';
import { Page } from '../components/Page';
import { Restricted } from '../components/Refusal';
import { TimeChart } from '../components/TimeChart';
import { RelativeTime } from '../components/time';
import { NotFound } from '../layout/ErrorPages';
import { CheckButton, DismissButton } from './actions';
import { Findings, severityIcons } from './Findings';
import { formatStateAge } from './format';
import { Measurements } from './Measurements';
import { healthHistory, healthReport } from './queries';
import { findingCodes, sections } from './sections';

type Definition = (typeof sections)[number];
type History = Schema<'HealthSectionHistory'>;

/** One section of the health report: what was measured, since when, the last day and what to do. */
export default function SectionPage() {
  const { section } = useParams({ from: '/shell/deployment/health/$section' });
  const definition = sections.find((s) => s.path === section);
  if (!definition) return <NotFound />;
  return (
    <Restricted permission="readDeployment" title={definition.title} needs="the role Owner">
      <Section definition={definition} />
    </Restricted>
  );
}

const severities = { ok: 'Healthy', warning: 'Warning', error: 'Error' };

function Section({ definition }: { definition: Definition }) {
  const report = useQuery(healthReport);
  const history = useQuery(healthHistory);
  const section = report.data && definition.of(report.data);
  const past = history.data?.sections.find((s) => s.section === definition.name);
  const codes = section ? findingCodes(section) : [];
  return (
    <Page
      title={definition.title}
      hint={
        <>
          <Anchor component={Link} to="/deployment/health" inherit underline="always">
            Health
          </Anchor>
          {' · '}
          {definition.about}
        </>
      }
      actions={
        <>
          {section && <DismissButton definition={definition} section={section} />}
          <CheckButton />
        </>
      }
    >
      <Stack>
        <ErrorAlert error={report.error ?? history.error} />
        {report.isPending && <Loading />}
        {report.data && section && (
          <>
            <Card title="State">
              <Group gap="xs">
                {severityIcons[section.severity]}
                <Text fw={600}>{severities[section.severity]}</Text>
                {section.dismissed && <Badge color="gray">Dismissed</Badge>}
                <Text size="sm" c="dimmed">
                  {past && formatStateAge(past, report.data.time)} Checked <RelativeTime at={report.data.time} />.
                </Text>
              </Group>
              <Findings section={section} />
            </Card>
            {codes.length > 0 && (
              <Card title="What to do">
                <List size="sm">
                  {codes.map((code) => (
                    <List.Item key={code}>
                      {definition.advice[code] ?? 'Read the message and the log of the server.'}
                    </List.Item>
                  ))}
                </List>
                {!section.dismissed && (
                  <Text size="sm" c="dimmed" mt="xs">
                    Dismiss the findings if they are expected. Dismissed sections do not count in the health of the
                    deployment.
                  </Text>
                )}
              </Card>
            )}
            <Card title="Measured">
              <Measurements report={report.data} name={definition.name} />
            </Card>
          </>
        )}
        {history.data && <Past definition={definition} since={history.data.since} past={past} />}
      </Stack>
    </Page>
  );
}

function Past({ definition, since, past }: { definition: Definition; since: string; past?: History }) {
  return (
    <Card title="Last 24 hours">
      {past && past.checks.length > 0 ? (
        <TimeChart
          title={definition.measure}
          unit={past.unit}
          since={since}
          until={new Date(new Date(since).getTime() + 24 * 3_600_000).toISOString()}
          points={past.checks.map((c) => ({
            time: c.time,
            value: c.value ?? undefined,
            state: c.severity,
            series: c.hostname || c.replica_id.slice(0, 8),
            note: c.finding,
          }))}
        />
      ) : (
        <Text size="sm" c="dimmed">
          No checks in the last 24 hours
        </Text>
      )}
    </Card>
  );
}

function Card({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h3" mb="xs">
        {title}
      </Title>
      {children}
    </Paper>
  );
}
