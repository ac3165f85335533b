import { NumberInput, Paper, Stack, Switch, TextInput, Textarea } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client';
import { DeleteSection } from '../../components/DeleteSection';
import { IconInput } from '../../components/IconInput';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';
import { SettingsForm } from '../../components/SettingsForm';
import { notifyError, notifySuccess } from '../../components/confirm';
import type { Organization, TabProps } from './queries';

const staleKeys = [['organization'], ['organizations'], ['permissions']];

/** The settings of the organization. */
export default function OrganizationSettings({ organization, may }: TabProps) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [f, setF] = useState({
    name: organization.name,
    display_name: organization.display_name,
    description: organization.description,
    icon: organization.icon,
    weight: organization.provisioner_weight as string | number,
  });
  const save = useMutation({
    mutationFn: () => {
      const { weight, ...texts } = f;
      return api.patch('/organizations/{organization}', {
        path: { organization: organization.id },
        body: { ...texts, provisioner_weight: Number(weight) || 0 },
      });
    },
    onSuccess: async (saved) => {
      notifySuccess('Organization saved');
      if (saved.name !== organization.name)
        await navigate({
          to: '/organizations/$organization/$tab',
          params: { organization: saved.name, tab: 'settings' },
          replace: true,
        });
      await Promise.all(staleKeys.map((queryKey) => client.invalidateQueries({ queryKey })));
    },
  });
  const typed = (k: 'name' | 'display_name' | 'description' | 'icon') => ({
    value: f[k],
    onChange: (e: { currentTarget: { value: string } }) => {
      const { value } = e.currentTarget;
      setF((old) => ({ ...old, [k]: value }));
    },
    error: getFieldError(save.error, k),
  });
  return (
    <Stack maw={720}>
      <SettingsForm error={save.error} pending={save.isPending} onSave={() => save.mutate()}>
        <TextInput label="Name" required description="Used in URLs and in the CLI." {...typed('name')} />
        <TextInput label="Display name" {...typed('display_name')} />
        <Textarea label="Description" autosize minRows={2} maxRows={6} {...typed('description')} />
        <IconInput {...typed('icon')} />
        <NumberInput
          label="Provisioner weight"
          description="The share of built-in provisioners, relative to other organizations. With 0, only external provisioners run its jobs."
          min={0}
          allowDecimal={false}
          value={f.weight}
          onChange={(v) => setF((old) => ({ ...old, weight: v }))}
          error={getFieldError(save.error, 'provisioner_weight')}
        />
      </SettingsForm>
      <WorkspaceSharingSetting organization={organization} />
      {may.remove && !organization.is_default && <DeleteOrganization organization={organization} />}
    </Stack>
  );
}

function WorkspaceSharingSetting({ organization }: { organization: Organization }) {
  const client = useQueryClient();
  const key = ['organization', organization.id, 'sharing'];
  const { data, error } = useQuery({
    queryKey: key,
    queryFn: () =>
      api.get('/organizations/{organization}/settings/workspace-sharing', { path: { organization: organization.id } }),
  });
  const save = useMutation({
    mutationFn: (on: boolean) =>
      api.patch('/organizations/{organization}/settings/workspace-sharing', {
        path: { organization: organization.id },
        body: { sharing_disabled: !on },
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: key }),
    onError: notifyError,
  });
  return (
    <Paper withBorder p="md">
      <ErrorAlert error={error} />
      <Switch
        label="Allow workspace sharing"
        description="Disabling this revokes all existing shares immediately."
        disabled={!data || save.isPending}
        checked={data ? !data.sharing_disabled : false}
        onChange={(e) => save.mutate(e.currentTarget.checked)}
      />
    </Paper>
  );
}

function DeleteOrganization({ organization }: { organization: Organization }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => api.delete('/organizations/{organization}', { path: { organization: organization.id } }),
    onSuccess: async () => {
      notifySuccess(`Organization ${organization.display_name || organization.name} deleted`);
      await navigate({ to: '/organizations' });
      await Promise.all(staleKeys.map((queryKey) => client.invalidateQueries({ queryKey })));
    },
  });
  return (
    <DeleteSection
      kind="organization"
      name={organization.name}
      title={organization.display_name || organization.name}
      description="Deletes the organization with its groups and roles. Delete its workspaces, templates and provisioner keys first."
      warning="Deletes the organization with its groups, roles and memberships. Users are kept."
      error={remove.error}
      pending={remove.isPending}
      onConfirm={() => remove.mutate()}
    />
  );
}
