import { Anchor, Stack, Table, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { DataTable } from '../components/DataTable';
import { RelativeTime, formatDuration } from '../components/time';
import { formatLatency } from './format';
import type { Report, SectionName } from './queries';

const yes = (on: boolean) => (on ? 'yes' : 'no');

/** What the check of a section measured. */
export function Measurements({ report, name }: { report: Report; name: SectionName }) {
  switch (name) {
    case 'AccessURL':
      return (
        <Facts
          rows={[
            ['Access URL', report.access_url.access_url || 'not set'],
            ['Responds', yes(report.access_url.reachable)],
            ['Status', report.access_url.status_code || '–'],
            ['Response', report.access_url.healthz_response || '–'],
          ]}
        />
      );
    case 'Database':
      return (
        <Facts
          rows={[
            ['Responds', yes(report.database.reachable)],
            ['Latency', formatLatency(report.database.latency)],
            ['Threshold', `${report.database.threshold_ms} ms`],
          ]}
        />
      );
    case 'Websocket':
      return (
        <Facts
          rows={[
            ['Status', report.websocket.code || '–'],
            ['Reply', report.websocket.body || '–'],
          ]}
        />
      );
    case 'DERP':
      return <Relays derp={report.derp} />;
    case 'ProvisionerDaemons':
      return (
        <Items
          headers={['Provisioner', 'Version', 'Status', 'Last seen', 'Finding']}
          rows={report.provisioner_daemons.items.map(({ provisioner_daemon: p, warnings }) => [
            p.name,
            p.version,
            p.status,
            p.last_seen_at ? <RelativeTime key="seen" at={p.last_seen_at} /> : '–',
            warnings.map((w) => `${w.code}: ${w.message}`).join('; '),
          ])}
          none="No provisioner is connected."
        />
      );
    case 'WorkspaceProxy':
      return (
        <Items
          headers={['Workspace proxy', 'URL', 'Serves', 'Status', 'Finding']}
          rows={report.workspace_proxy.workspace_proxies.regions
            .filter((p) => p.name !== 'primary')
            .map((p) => [
              p.display_name || p.name,
              p.path_app_url,
              [!p.derp_only && 'Apps', p.derp_enabled && 'SSH and ports'].filter(Boolean).join(', ') || '–',
              p.status.status,
              [...p.status.report.errors, ...p.status.report.warnings].join('; '),
            ])}
          none="There are no workspace proxies."
        />
      );
    case 'ExternalAuth':
      return (
        <Items
          headers={['Provider', 'URL', 'Responds', 'Finding']}
          rows={report.external_auth.items.map((p) => [p.display_name || p.id, p.url, yes(p.healthy), p.error])}
          none="No provider of external authentication is configured."
        />
      );
    case 'Notifications':
      return (
        <Facts
          rows={[
            ['Paused', yes(report.notifications.paused)],
            ['Waiting', report.notifications.waiting],
            [
              'Age of the oldest',
              report.notifications.waiting ? formatDuration(report.notifications.oldest_seconds * 1000) : '–',
            ],
            ['Not delivered', <Undelivered key="failed" count={report.notifications.failed} />],
          ]}
        />
      );
  }
}

/** The number of notifications that were not delivered, with a link to their errors. */
function Undelivered({ count }: { count: number }) {
  if (count === 0) return 0;
  return (
    <Anchor component={Link} to="/deployment/notifications" inherit underline="always">
      {count}
    </Anchor>
  );
}

function Relays({ derp }: { derp: Report['derp'] }) {
  const nodes = Object.values(derp.regions).flatMap((region) => region.node_reports);
  const { netcheck } = derp;
  return (
    <Stack>
      <Items
        headers={['Relay', 'Host', 'Responds', 'Round trip', 'STUN', 'Finding']}
        rows={nodes.map((n) => [
          n.node.name,
          n.node.hostName,
          yes(n.healthy),
          formatLatency(n.round_trip_ping),
          n.stun.enabled ? (n.stun.canSTUN ? 'responds' : 'no answer') : 'disabled',
          n.error || n.stun.error,
        ])}
        none="No relay is known."
      />
      <Facts
        rows={[
          ['UDP', yes(netcheck.udp)],
          ['Public IPv4 address', netcheck.globalV4 || '–'],
          ['Public IPv6 address', netcheck.globalV6 || '–'],
          ['Address differs between STUN servers', netcheck.mappingVariesByDestIP || 'unknown'],
        ]}
      />
    </Stack>
  );
}

function Facts({ rows }: { rows: [string, ReactNode][] }) {
  return (
    <Table withRowBorders={false} style={{ overflowWrap: 'anywhere' }}>
      <Table.Tbody>
        {rows.map(([label, value]) => (
          <Table.Tr key={label}>
            <Table.Th w={{ base: 140, sm: 280 }} fw={500}>
              {label}
            </Table.Th>
            <Table.Td>{value}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

/** A table. Its last column is left out when all rows have "" there. */
function Items({ headers, rows, none }: { headers: string[]; rows: ReactNode[][]; none: string }) {
  const columns = rows.every((cells) => cells.at(-1) === '') ? headers.slice(0, -1) : headers;
  if (rows.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {none}
      </Text>
    );
  return (
    <DataTable headers={columns} minWidth={640}>
      {rows.map((cells, i) => (
        <Table.Tr key={i}>
          {cells.slice(0, columns.length).map((cell, j) => (
            <Table.Td key={j}>{cell}</Table.Td>
          ))}
        </Table.Tr>
      ))}
    </DataTable>
  );
}
