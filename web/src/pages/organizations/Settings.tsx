import { NumberInput, Paper, Stack, Switch, TextInput, Textarea } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client';
import { DeletePart } from '../../parts/DeletePart';
import { Refusal, fieldError } from '../../parts/Refusal';
import { SaveForm } from '../../parts/SaveForm';
import { complain, praise } from '../../parts/confirm';
import type { Organization, TabProps } from './data';

const stale = [['organization'], ['organizations'], ['permissions']];

/** What the organization is called, its share of the server's provisioners, and its end. */
export default function Settings({ o, may }: TabProps) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [f, setF] = useState({ name: o.name, display_name: o.display_name, description: o.description, icon: o.icon, weight: o.provisioner_weight as string | number });
  const save = useMutation({
    mutationFn: () => {
      const { weight, ...texts } = f;
      return api.patch('/organizations/{organization}', { path: { organization: o.id }, body: { ...texts, provisioner_weight: Number(weight) || 0 } });
    },
    onSuccess: async (saved) => {
      praise('Saved');
      if (saved.name !== o.name) await navigate({ to: '/organizations/$organization/$tab', params: { organization: saved.name, tab: 'settings' }, replace: true });
      await Promise.all(stale.map((queryKey) => client.invalidateQueries({ queryKey })));
    },
  });
  const typed = (k: 'name' | 'display_name' | 'description' | 'icon') => ({
    value: f[k],
    onChange: (e: { currentTarget: { value: string } }) => {
      const { value } = e.currentTarget;
      setF((old) => ({ ...old, [k]: value }));
    },
    error: fieldError(save.error, k),
  });
  return (
    <Stack maw={720}>
      <SaveForm error={save.error} pending={save.isPending} onSave={() => save.mutate()}>
        <TextInput label="Name" required description="Part of addresses and of commands." {...typed('name')} />
        <TextInput label="Display name" {...typed('display_name')} />
        <Textarea label="Description" autosize minRows={2} maxRows={6} {...typed('description')} />
        <TextInput label="Icon" description="The address of a picture." {...typed('icon')} />
        <NumberInput
          label="Weight"
          description="Its share of the server's own provisioners, against the weights of other organizations. 0: they build nothing for it, only its own provisioners do."
          min={0}
          allowDecimal={false}
          value={f.weight}
          onChange={(v) => setF((old) => ({ ...old, weight: v }))}
          error={fieldError(save.error, 'provisioner_weight')}
        />
      </SaveForm>
      <Sharing o={o} />
      {may.remove && !o.is_default && <Delete o={o} />}
    </Stack>
  );
}

function Sharing({ o }: { o: Organization }) {
  const client = useQueryClient();
  const key = ['organization', o.id, 'sharing'];
  const { data, error } = useQuery({ queryKey: key, queryFn: () => api.get('/organizations/{organization}/settings/workspace-sharing', { path: { organization: o.id } }) });
  const save = useMutation({
    mutationFn: (on: boolean) => api.patch('/organizations/{organization}/settings/workspace-sharing', { path: { organization: o.id }, body: { sharing_disabled: !on } }),
    onSuccess: () => client.invalidateQueries({ queryKey: key }),
    onError: complain,
  });
  return (
    <Paper withBorder p="md">
      <Refusal error={error} />
      <Switch
        label="Owners may share their workspaces"
        description="Turned off, what is shared now ends at once."
        disabled={!data || save.isPending}
        checked={data ? !data.sharing_disabled : false}
        onChange={(e) => save.mutate(e.currentTarget.checked)}
      />
    </Paper>
  );
}

function Delete({ o }: { o: Organization }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => api.delete('/organizations/{organization}', { path: { organization: o.id } }),
    onSuccess: async () => {
      praise(`${o.display_name || o.name} is deleted`);
      await navigate({ to: '/organizations' });
      await Promise.all(stale.map((queryKey) => client.invalidateQueries({ queryKey })));
    },
  });
  return (
    <DeletePart
      what="organization"
      name={o.name}
      title={o.display_name || o.name}
      about="Its members, groups and roles. An organization that still has workspaces, templates or provisioner keys cannot be deleted."
      lost="The organization with its groups, roles and memberships. Its users stay."
      error={remove.error}
      pending={remove.isPending}
      onYes={() => remove.mutate()}
    />
  );
}
