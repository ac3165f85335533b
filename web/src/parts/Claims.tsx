import { Autocomplete, Button, Group, MultiSelect, Paper, Stack, Table, Text, Title } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { api } from '../api/client';
import { authMethods } from '../api/queries';
import { Refusal, fieldError } from './Refusal';
import { Sheet } from './Sheet';

interface Pair {
  given: string;
  gets: string;
}

interface Props {
  title: string;
  about: string;
  /** What is arranged, such as groups. */
  of: string;
  /** Where claims are looked for: an organization's id, or everywhere. */
  organization?: string;
  field: string;
  mapping: Record<string, string[]>;
  targets: { value: string; label: string }[];
  /** More settings, and what they are saved with. */
  extra?: ReactNode;
  change: boolean;
  onConfig: (field: string) => Promise<unknown>;
  onMap: (change: { add: Pair[]; remove: Pair[] }) => Promise<unknown>;
}

/** What identity providers have said of people so far: claims, or the values of one. */
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

/** How a claim of the identity provider becomes something here: which claim, and what its values stand for. */
export function Claims({ title, about, of, organization, field: saved, mapping, targets, extra, change, onConfig, onMap }: Props) {
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
              Nobody logs in by OpenID Connect here yet; --oidc-issuer-url sets that up.
            </Text>
          )}
        </div>
        <form
          onSubmit={(e: FormEvent) => {
            e.preventDefault();
            save.mutate();
          }}
        >
          <Stack gap="sm">
            <Refusal error={save.error} />
            <Autocomplete
              label="Claim"
              description={`Its values say which ${of}. Empty: the provider arranges none, and people do.`}
              data={claims}
              value={field}
              onChange={setField}
              disabled={!change}
              error={fieldError(save.error, 'field')}
            />
            {extra}
            {change && (
              <Group>
                <Button type="submit" loading={save.isPending}>
                  Save
                </Button>
                {save.isSuccess && (
                  <Text size="sm" role="status">
                    Saved. It counts from each person's next login on.
                  </Text>
                )}
              </Group>
            )}
          </Stack>
        </form>
        <Refusal error={map.error} />
        <Mapping of={of} mapping={mapping} targets={targets} onRemove={change ? (pair) => map.mutate({ add: [], remove: [pair] }) : undefined} />
        {change && <Add of={of} organization={organization} field={saved} targets={targets} pending={map.isPending} onAdd={(add, done) => map.mutate({ add, remove: [] }, { onSuccess: done })} />}
      </Stack>
    </Paper>
  );
}

function Mapping({ of, mapping, targets, onRemove }: { of: string; mapping: Props['mapping']; targets: Props['targets']; onRemove?: (pair: Pair) => void }) {
  const rows = Object.entries(mapping).sort(([a], [b]) => a.localeCompare(b));
  if (rows.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        No value is mapped.
      </Text>
    );
  }
  const name = (id: string) => targets.find((t) => t.value === id)?.label ?? `${id} (gone)`;
  return (
    <Sheet heads={['The provider says', `Becomes ${of}`]} minWidth={420}>
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
                    aria-label={`Map ${given} to ${name(gets)} no longer`}
                    onClick={() => onRemove({ given, gets })}
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
    </Sheet>
  );
}

interface AddProps {
  of: string;
  organization?: string;
  /** The claim whose values are offered. */
  field: string;
  targets: Props['targets'];
  pending: boolean;
  onAdd: (pairs: Pair[], done: () => void) => void;
}

function Add({ of, organization, field, targets, pending, onAdd }: AddProps) {
  const [given, setGiven] = useState('');
  const [gets, setGets] = useState<string[]>([]);
  const values = useClaims(organization, field);
  const ready = given.trim() !== '' && gets.length > 0;
  const submit = (e: FormEvent) => {
    e.preventDefault();
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
    <form onSubmit={submit}>
      <Group align="flex-end">
        <Autocomplete flex={1} miw={180} label="The provider says" data={values} value={given} onChange={setGiven} />
        <MultiSelect flex={1} miw={200} label={`Becomes ${of}`} searchable data={targets} value={gets} onChange={setGets} />
        <Button type="submit" variant="default" loading={pending} disabled={!ready}>
          Map
        </Button>
      </Group>
    </form>
  );
}
