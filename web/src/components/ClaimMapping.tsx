import { Autocomplete, Button, Group, MultiSelect, Paper, Stack, Table, Text, Title } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api } from '../api/client';
import { authMethods } from '../api/queries';
import { ErrorAlert, getFieldError } from './ErrorAlert';
import { DataTable } from './DataTable';
import { Form } from './Form';

interface Pair {
  given: string;
  gets: string;
}

interface Props {
  title: string;
  description: string;
  /** What the claim assigns, such as groups. */
  resources: string;
  /** The organization whose claims are suggested; all when absent. */
  organization?: string;
  field: string;
  mapping: Record<string, string[]>;
  targets: { value: string; label: string }[];
  /** Additional settings that are saved with the claim. */
  extra?: ReactNode;
  editable: boolean;
  onConfig: (field: string) => Promise<unknown>;
  onMap: (change: { add: Pair[]; remove: Pair[] }) => Promise<unknown>;
}

/** Returns the claims that sign-ins contained so far, or the values of one claim. */
function useClaims(organization: string | undefined, field?: string): string[] {
  const { data } = useQuery({
    queryKey: ['claims', organization, field],
    queryFn: () => {
      if (field === undefined) {
        return organization
          ? api.get('/organizations/{organization}/settings/idpsync/available-fields', { path: { organization } })
          : api.get('/settings/idpsync/available-fields');
      }
      const query = { claimField: field };
      return organization
        ? api.get('/organizations/{organization}/settings/idpsync/field-values', { path: { organization }, query })
        : api.get('/settings/idpsync/field-values', { query });
    },
    enabled: field !== '',
  });
  return data ?? [];
}

/** Maps the values of a claim from the identity provider to organizations, groups or roles. */
export function ClaimMapping({
  title,
  description: about,
  resources: of,
  organization,
  field: saved,
  mapping,
  targets,
  extra,
  editable: change,
  onConfig,
  onMap,
}: Props) {
  const { data: methods } = useQuery(authMethods);
  const [field, setField] = useState(saved);
  const claims = useClaims(organization);
  const save = useMutation({ mutationFn: () => onConfig(field.trim()) });
  const map = useMutation({ mutationFn: onMap });
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Stack>
        <div>
          <Title order={2} size="h3">
            {title}
          </Title>
          <Text size="sm">{about}</Text>
          {methods && !methods.oidc.enabled && (
            <Text size="sm" c="dimmed">
              OpenID Connect is not configured. Set --oidc-issuer-url to enable it.
            </Text>
          )}
        </div>
        <Form
          error={save.error}
          onSubmit={() => {
            save.mutate();
          }}
        >
          <Stack gap="sm">
            <ErrorAlert error={save.error} />
            <Autocomplete
              label="Claim"
              description={`The claim whose values are mapped to ${of}. Leave empty to disable sync.`}
              data={claims}
              value={field}
              onChange={setField}
              disabled={!change}
              error={getFieldError(save.error, 'field')}
            />
            {extra}
            {change && (
              <Group>
                <Button type="submit" loading={save.isPending}>
                  Save
                </Button>
                {save.isSuccess && (
                  <Text size="sm" role="status">
                    Saved. Changes apply at the next sign-in.
                  </Text>
                )}
              </Group>
            )}
          </Stack>
        </Form>
        <ErrorAlert error={map.error} />
        <MappingTable
          of={of}
          mapping={mapping}
          targets={targets}
          onRemove={change ? (pair) => map.mutate({ add: [], remove: [pair] }) : undefined}
        />
        {change && (
          <AddMapping
            of={of}
            organization={organization}
            field={saved}
            targets={targets}
            pending={map.isPending}
            onAdd={(add, done) => map.mutate({ add, remove: [] }, { onSuccess: done })}
          />
        )}
      </Stack>
    </Paper>
  );
}

function MappingTable({
  of,
  mapping,
  targets,
  onRemove,
}: {
  of: string;
  mapping: Props['mapping'];
  targets: Props['targets'];
  onRemove?: (pair: Pair) => void;
}) {
  const rows = Object.entries(mapping).sort(([a], [b]) => a.localeCompare(b));
  if (rows.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        No mappings
      </Text>
    );
  }
  const name = (id: string) => targets.find((t) => t.value === id)?.label ?? `${id} (deleted)`;
  return (
    <DataTable headers={['Claim value', `Mapped ${of}`]} minWidth={420}>
      {rows.map(([given, all]) => (
        <Table.Tr key={given}>
          <Table.Td style={{ overflowWrap: 'anywhere' }}>{given}</Table.Td>
          <Table.Td>
            <Group gap={6}>
              {all.map((gets) =>
                onRemove ? (
                  <Button
                    key={gets}
                    size="compact-xs"
                    variant="light"
                    rightSection={<IconX size={12} />}
                    aria-label={`Remove mapping from ${given} to ${name(gets)}`}
                    onClick={() => onRemove({ given: given, gets })}
                  >
                    {name(gets)}
                  </Button>
                ) : (
                  <Text size="sm" key={gets}>
                    {name(gets)}
                  </Text>
                ),
              )}
            </Group>
          </Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  );
}

interface AddProps {
  of: string;
  organization?: string;
  /** The claim whose values are suggested. */
  field: string;
  targets: Props['targets'];
  pending: boolean;
  onAdd: (pairs: Pair[], done: () => void) => void;
}

function AddMapping({ of, organization, field, targets, pending, onAdd }: AddProps) {
  const [given, setGiven] = useState('');
  const [gets, setGets] = useState<string[]>([]);
  const values = useClaims(organization, field);
  const ready = given.trim() !== '' && gets.length > 0;
  const submit = () => {
    if (!ready) return;
    onAdd(
      gets.map((g) => ({ given: given.trim(), gets: g })),
      () => {
        setGiven('');
        setGets([]);
      },
    );
  };
  return (
    <Form error={null} onSubmit={submit}>
      <Group align="flex-end">
        <Autocomplete flex={1} miw={180} label="Claim value" data={values} value={given} onChange={setGiven} />
        <MultiSelect
          flex={1}
          miw={200}
          label={`Mapped ${of}`}
          searchable
          data={targets}
          value={gets}
          onChange={setGets}
        />
        <Button type="submit" variant="default" loading={pending} disabled={!ready}>
          Add mapping
        </Button>
      </Group>
    </Form>
  );
}
