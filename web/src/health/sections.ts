import { formatLatency } from './format';
import type { Report, SectionName } from './queries';

export type Section = Pick<Report['database'], 'severity' | 'warnings' | 'error' | 'dismissed'>;

interface Definition {
  name: SectionName;
  /** The last element of the section's URL. */
  path: string;
  title: string;
  /** What the check does. */
  about: string;
  of: (report: Report) => Section;
  /** The result in one line. */
  summary: (report: Report) => string;
  /** What the values of the history are, such as "Latency"; their unit comes with them. */
  measure: string;
  /** What to do, by code of the finding. */
  advice: Record<string, string>;
}

/** The sections of a report, in the order of the page. */
export const sections: Definition[] = [
  {
    name: 'AccessURL',
    path: 'access-url',
    title: 'Access URL',
    about: 'The server requests /healthz at its access URL, as workspaces and users do.',
    of: (r) => r.access_url,
    summary: ({ access_url: a }) =>
      `${a.access_url}${a.reachable ? ` returned status ${a.status_code}` : ' does not respond'}`,
    measure: 'Response time',
    advice: {
      EACS01: 'Set --access-url to the URL at which users reach this server, and restart it.',
      EACS02: 'Set --access-url to a URL such as https://coder.example.com, and restart the server.',
      EACS03:
        'Resolve the host name of the access URL on the machine of the server, and allow the server to connect to it. Check the certificate of the proxy in front.',
      EACS04: 'Check that the proxy in front of the access URL forwards all paths to this server.',
    },
  },
  {
    name: 'Database',
    path: 'database',
    title: 'Database',
    about: 'The server measures the median of five round trips to PostgreSQL.',
    of: (r) => r.database,
    summary: ({ database: d }) =>
      d.reachable ? `Latency ${formatLatency(d.latency)}, threshold ${d.threshold_ms} ms` : 'Unreachable',
    measure: 'Latency',
    advice: {
      EDB01: 'Start PostgreSQL, and check --postgres-url and the network between both.',
      EDB02:
        'Run the server in the same region as the database. Check the load of the database and slow queries; if the latency is expected, raise --health-check-threshold-database.',
      EDB03: 'Set --external-token-encryption-keys to a key of “openssl rand -base64 32”, or to none to accept this.',
    },
  },
  {
    name: 'DERP',
    path: 'derp',
    title: 'DERP',
    about: 'The server connects to the relay of each server, and asks STUN servers for its public address.',
    of: (r) => r.derp,
    summary: () => 'Relays connections when no direct connection is possible',
    measure: 'Slowest round trip to a relay',
    advice: {
      EDERP01: 'Check that the proxies between the servers pass the Upgrade header.',
      EDERP02: 'Check that the servers reach one another at --derp-server-relay-url.',
      ESTUN01: 'Allow outgoing UDP, or set --derp-server-stun-addresses to a server that responds.',
      ESTUN02: 'Connections use the relay. For direct connections, give the server a public address or a simpler NAT.',
    },
  },
  {
    name: 'Websocket',
    path: 'websocket',
    title: 'WebSockets',
    about: 'The server opens a WebSocket at its access URL and expects an echo.',
    of: (r) => r.websocket,
    summary: ({ websocket: w }) => (w.healthy ? 'Connected' : `Connection failed with status ${w.code}`),
    measure: 'Time to connect and echo',
    advice: {
      EWS01: 'Check that the proxies in front of the access URL pass the Upgrade header.',
      EWS02: 'Raise the timeouts of the proxies for idle connections, and disable their buffering.',
      EWS03: 'Check the proxies in front of the access URL: one of them changes messages.',
    },
  },
  {
    name: 'ProvisionerDaemons',
    path: 'provisioners',
    title: 'Provisioners',
    about: 'The server lists the connected provisioners, and compares their versions with its own.',
    of: (r) => r.provisioner_daemons,
    summary: ({ provisioner_daemons: p }) => `${p.items.length} connected`,
    measure: 'Connected provisioners',
    advice: {
      EPD01: 'Start a provisioner with “coder provisioner start”, or set --provisioner-daemons to 1 or more.',
      EPD02: 'Upgrade the provisioner to the version of the server.',
      EPD03: 'Upgrade the provisioner: a later server will refuse its protocol version.',
    },
  },
  {
    name: 'WorkspaceProxy',
    path: 'workspace-proxies',
    title: 'Workspace proxies',
    about: 'The server checks /healthz of each workspace proxy that is registered.',
    of: (r) => r.workspace_proxy,
    summary: ({ workspace_proxy: { workspace_proxies: w } }) => {
      const proxies = w.regions.filter((p) => p.name !== 'primary');
      return proxies.length > 0
        ? `${proxies.filter((p) => p.healthy).length} of ${proxies.length} healthy`
        : 'No workspace proxies';
    },
    measure: 'Healthy proxies',
    advice: {
      EWP02: 'Check the database: the list of proxies could not be read.',
      EWP04: 'Check that the proxy runs, that the server reaches its URL, and that its version is that of the server.',
    },
  },
  {
    name: 'ExternalAuth',
    path: 'external-auth',
    title: 'External authentication',
    about: 'The server sends one request to each provider of external authentication.',
    of: (r) => r.external_auth,
    summary: ({ external_auth: { items } }) =>
      items.length > 0
        ? `${items.filter((p) => p.healthy).length} of ${items.length} providers respond`
        : 'No providers',
    measure: 'Healthy providers',
    advice: {
      EEXT01: 'Check the status of the provider, and that the server may connect to its address.',
    },
  },
  {
    name: 'Notifications',
    path: 'notifications',
    title: 'Notifications',
    about: 'The server counts the notifications that wait for delivery and those that were given up.',
    of: (r) => r.notifications,
    summary: ({ notifications: n }) => `${n.waiting} waiting, ${n.failed} not delivered`,
    measure: 'Waiting messages',
    advice: {
      ENOT01: 'Open Deployment > Notifications for the reasons, and check the settings of email and webhooks.',
      ENOT02: 'Check that the mail server and the webhook respond, and that a server of the deployment runs.',
      ENOT03: 'Resume notifications under Deployment > Notifications, or with “coder notifications resume”.',
    },
  },
];

/** Returns the codes of a section's findings: of its error, which starts with one, and of its warnings. */
export function findingCodes(section: Section): string[] {
  const error = /^([A-Z]+\d*):/.exec(section.error)?.[1];
  return [...new Set([...(error ? [error] : []), ...section.warnings.map((w) => w.code)])];
}
