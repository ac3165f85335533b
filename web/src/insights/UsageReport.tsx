import { Anchor, Group, SegmentedControl, Select, Stack, Table, Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../api/client';
import { BarChart } from '../components/BarChart';
import { ErrorAlert } from '../components/ErrorAlert';
import { Loading } from '../components/Loading';
import { getTimeZone } from '../components/time';
import { formatCount, formatNumber } from '../lib/text';
import { type Cell, formatCSV } from './csv';
import { formatDay, periodOf } from './days';
import { Card, ExportButton, numeric } from './parts';
import { VersionReport } from './VersionReport';

type Report = Schema<'InsightsBreakdown'>;
type Share = Schema<'InsightsShare'>;

interface Chosen {
  id: string;
  name: string;
}

const hours = (seconds: number) => seconds / 3600;
const decimal = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const column = new Intl.NumberFormat(undefined, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const nameOf = (s: Share) => s.display_name || s.name || s.id;

/** Usage, costs and versions: of the deployment, or of one organization. */
export function UsageReport({ organization: fixed }: { organization?: string }) {
  const [days, setDays] = useState('7');
  const [sort, setSort] = useState('credits');
  const [organization, setOrganization] = useState<Chosen>();
  const [template, setTemplate] = useState<Chosen>();
  const [user, setUser] = useState<Chosen>();
  const [now] = useState(() => new Date());
  const scope = { organization: fixed ?? organization?.id, template: template?.id };
  const query = {
    ...periodOf(Number(days), now),
    timezone: getTimeZone(),
    ...scope,
    user: user?.id,
  };
  const { data, error } = useQuery({
    queryKey: ['insights', 'breakdown', query],
    queryFn: () => api.get('/insights/breakdown', { query }),
    staleTime: 5 * 60_000,
    placeholderData: keepPreviousData,
  });
  const sorted = (list: Share[]) =>
    sort === 'credits' ? list : list.toSorted((a, b) => b.active_seconds - a.active_seconds);
  return (
    <Stack>
      <Group>
        <SegmentedControl
          aria-label="Days"
          value={days}
          onChange={setDays}
          data={[
            { value: '7', label: '7 days' },
            { value: '30', label: '30 days' },
            { value: '90', label: '90 days' },
          ]}
        />
        {data && (
          <>
            {!fixed && (
              <Choice
                label="Organization"
                value={organization}
                list={data.organizations}
                onChange={(to) => {
                  setOrganization(to);
                  setTemplate(undefined);
                }}
              />
            )}
            <Choice label="Template" value={template} list={data.templates} onChange={setTemplate} />
            <Choice label="User" value={user} list={data.users} onChange={setUser} />
          </>
        )}
      </Group>
      <ErrorAlert error={error} />
      {!data && !error && <Loading />}
      {data && (
        <>
          <Text size="sm">
            {formatCount(data.active_users, 'active user')}, {decimal.format(hours(data.active_seconds))} active hours,{' '}
            {decimal.format(data.credits)} credits. Days are those of {data.timezone}.
          </Text>
          <Charts report={data} />
          <Group justify="flex-end">
            <SegmentedControl
              aria-label="Sort by"
              value={sort}
              onChange={setSort}
              data={[
                { value: 'credits', label: 'By credits' },
                { value: 'time', label: 'By active time' },
              ]}
            />
          </Group>
          {!fixed && !organization && (
            <Shares
              title="Organizations"
              one="Organization"
              list={sorted(data.organizations)}
              onChoose={setOrganization}
            />
          )}
          {!template && (
            <Shares title="Templates" one="Template" list={sorted(data.templates)} onChoose={setTemplate} />
          )}
          {!user && <Shares title="Users" one="User" list={sorted(data.users)} onChoose={setUser} />}
        </>
      )}
      <VersionReport scope={scope} />
    </Stack>
  );
}

interface ChoiceProps {
  label: string;
  value?: Chosen;
  list: Share[];
  onChange: (to: Chosen | undefined) => void;
}

/** Restricts the report to one of a list; the chosen one stays in it. */
function Choice({ label, value, list, onChange }: ChoiceProps) {
  const all = list.map((s) => ({ value: s.id, label: nameOf(s) }));
  if (value && !all.some((s) => s.value === value.id)) all.unshift({ value: value.id, label: value.name });
  return (
    <Select
      aria-label={label}
      placeholder={`All ${label.toLowerCase()}s`}
      searchable
      clearable
      data={all}
      value={value?.id ?? null}
      onChange={(id) => onChange(id ? { id, name: all.find((s) => s.value === id)?.label ?? id } : undefined)}
    />
  );
}

/** The values of each day. */
function Charts({ report }: { report: Report }) {
  const bars = (value: (d: Report['days'][number]) => number) =>
    report.days.map((d) => ({ label: formatDay(d.date), value: Math.round(value(d) * 10) / 10 }));
  const csv = () =>
    formatCSV(
      ['Date', 'Active users', 'Active hours', 'Credits'],
      report.days.map((d) => [d.date, d.active_users, hours(d.active_seconds), d.credits]),
    );
  return (
    <>
      <Card
        title="Active users"
        action={<ExportButton csv={csv} name={`usage-${report.start_date}-${report.end_date}`} what="Days" />}
      >
        <BarChart title="Active users" unit="Date" measure="users" bars={bars((d) => d.active_users)} />
      </Card>
      <Card title="Active time">
        <BarChart
          title="Active hours"
          unit="Date"
          measure="hours"
          fractions
          bars={bars((d) => hours(d.active_seconds))}
        />
      </Card>
      <Card title="Costs">
        {report.credits === 0 ? (
          <Text size="sm" c="dimmed">
            No costs in this period. Templates declare the daily cost of their resources with coder_metadata.
          </Text>
        ) : (
          <BarChart
            title="Credits per day"
            unit="Date"
            measure="credits per day"
            fractions
            bars={bars((d) => d.credits)}
          />
        )}
      </Card>
    </>
  );
}

interface SharesProps {
  title: string;
  one: string;
  list: Share[];
  onChoose: (to: Chosen) => void;
}

/** The values of each organization, template or user. */
function Shares({ title, one, list, onChoose }: SharesProps) {
  const users = one !== 'User';
  const heads = [one, ...(users ? ['Active users'] : []), 'Active hours', 'Credits'];
  const csv = () =>
    formatCSV(
      ['ID', ...heads],
      list.map((s): Cell[] => [s.id, s.name, ...(users ? [s.active_users] : []), hours(s.active_seconds), s.credits]),
    );
  return (
    <Card title={title} action={list.length > 0 && <ExportButton csv={csv} name={title.toLowerCase()} what={title} />}>
      {list.length === 0 ? (
        <Text size="sm" c="dimmed">
          No data for this period
        </Text>
      ) : (
        <Table.ScrollContainer minWidth={300} mah={420}>
          <Table>
            <Table.Thead>
              <Table.Tr>
                {heads.map((head, i) => (
                  <Table.Th key={head} {...(i > 0 && numeric)}>
                    {head}
                  </Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {list.map((s) => (
                <Table.Tr key={s.id}>
                  <Table.Td>
                    <Anchor
                      component="button"
                      size="sm"
                      ta="left"
                      onClick={() => onChoose({ id: s.id, name: nameOf(s) })}
                    >
                      {nameOf(s)}
                    </Anchor>
                  </Table.Td>
                  {users && <Table.Td {...numeric}>{formatNumber(s.active_users)}</Table.Td>}
                  <Table.Td {...numeric}>{column.format(hours(s.active_seconds))}</Table.Td>
                  <Table.Td {...numeric}>{column.format(s.credits)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      {list.length >= 100 && (
        <Text size="sm" c="dimmed" mt="xs">
          Only those with the highest costs and the most active time are listed.
        </Text>
      )}
    </Card>
  );
}
