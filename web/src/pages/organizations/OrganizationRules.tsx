import { Checkbox, MultiSelect, NumberInput, Stack, Switch, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';
import { Loading } from '../../components/Loading';
import { SettingsForm } from '../../components/SettingsForm';
import { notifySuccess } from '../../components/confirm';
import { type Organization, type TabProps, groupsQuery } from './queries';

type Rules = Schema<'OrganizationRules'>;
const day = 86_400;

const rulesKey = (organization: string) => ['organization', organization, 'rules'];

/** The rules of the organization for tokens and external accounts of its members. */
export default function OrganizationRules({ organization }: TabProps) {
  const path = { organization: organization.id };
  const { data, error } = useQuery({
    queryKey: rulesKey(organization.id),
    queryFn: () => api.get('/organizations/{organization}/settings/rules', { path }),
  });
  if (error) return <ErrorAlert error={error} />;
  if (!data) return <Loading />;
  return <RulesForm organization={organization} now={data} />;
}

function RulesForm({ organization, now }: { organization: Organization; now: Rules }) {
  const client = useQueryClient();
  const known = useQuery({ queryKey: ['scopes'], queryFn: () => api.get('/auth/scopes') });
  const [scopes, setScopes] = useState<string[]>(now.token_scopes);
  const [days, setDays] = useState<string | number>(now.max_token_lifetime_seconds / day || '');
  const [restricted, setRestricted] = useState(now.external_auth_restricted);
  const [providers, setProviders] = useState(now.external_auth);
  const save = useMutation({
    mutationFn: () =>
      api.put('/organizations/{organization}/settings/rules', {
        path: { organization: organization.id },
        body: {
          token_scopes: scopes as Schema<'APIKeyScope'>[],
          max_token_lifetime_seconds: Math.round(Number(days) * day),
          external_auth_restricted: restricted,
          external_auth: providers,
        },
      }),
    onSuccess: (saved) => {
      client.setQueryData(rulesKey(organization.id), saved);
      notifySuccess('Rules saved');
    },
  });
  return (
    <Stack maw={720}>
      <Text size="sm">
        The rules of all organizations of a user apply. They also apply to existing tokens and links.
      </Text>
      <SettingsForm error={save.error} pending={save.isPending} onSave={() => save.mutate()}>
        <NumberInput
          label="Maximum token lifetime"
          description="In days. Empty means the limit of the deployment."
          min={0}
          value={days}
          onChange={setDays}
          error={getFieldError(save.error, 'max_token_lifetime_seconds')}
        />
        <MultiSelect
          label="Token scopes"
          description="API tokens of members can have only these scopes. Empty means all."
          searchable
          data={[...new Set(['coder:all', ...(known.data?.external ?? []), ...scopes])]}
          value={scopes}
          onChange={setScopes}
          error={getFieldError(save.error, 'token_scopes')}
        />
        <Switch
          label="Restrict external authentication"
          description="Members can link only the selected providers. Workspaces get no token of other providers."
          checked={restricted}
          onChange={(e) => setRestricted(e.currentTarget.checked)}
        />
        {restricted && <Providers organization={organization} value={providers} onChange={setProviders} />}
      </SettingsForm>
    </Stack>
  );
}

interface ProvidersProps {
  organization: Organization;
  value: Rules['external_auth'];
  onChange: (value: Rules['external_auth']) => void;
}

/** Selects the providers that members can link, and for each the groups whose members can. */
function Providers({ organization, value, onChange }: ProvidersProps) {
  const configured = useQuery({ queryKey: ['external-auth'], queryFn: () => api.get('/external-auth') });
  const groups = useQuery(groupsQuery(organization.id));
  const names = new Map(configured.data?.providers.map((p) => [p.id, p.display_name]));
  const ids = [...new Set([...names.keys(), ...value.map((r) => r.provider_id)])];
  if (configured.data && ids.length === 0) return <Text size="sm">This deployment has no providers.</Text>;
  return (
    <Stack gap="sm">
      {ids.map((id) => {
        const rule = value.find((r) => r.provider_id === id);
        const others = value.filter((r) => r.provider_id !== id);
        const name = names.get(id) ?? id;
        return (
          <Stack key={id} gap={4}>
            <Checkbox
              label={name}
              checked={!!rule}
              onChange={(e) =>
                onChange(e.currentTarget.checked ? [...others, { provider_id: id, group_ids: [] }] : others)
              }
            />
            {rule && (
              <MultiSelect
                aria-label={`Groups that can link ${name}`}
                placeholder={rule.group_ids.length === 0 ? 'All members' : undefined}
                searchable
                ml="xl"
                data={[
                  ...(groups.data ?? []).map((g) => ({ value: g.id, label: g.display_name || g.name })),
                  ...rule.group_ids
                    .filter((g) => groups.data && !groups.data.some((known) => known.id === g))
                    .map((g) => ({ value: g, label: `Deleted group ${g.slice(0, 8)}` })),
                ]}
                value={rule.group_ids}
                onChange={(group_ids) => onChange([...others, { provider_id: id, group_ids }])}
              />
            )}
          </Stack>
        );
      })}
    </Stack>
  );
}
