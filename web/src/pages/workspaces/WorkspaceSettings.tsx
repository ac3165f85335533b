import { Select, Stack } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client';
import { getFieldError } from '../../components/ErrorAlert';
import { NameField } from '../../components/NameField';
import { SettingsForm } from '../../components/SettingsForm';
import { notifySuccess } from '../../components/confirm';
import type { Workspace } from './queries';

/** The name of a workspace and its update policy. */
export function WorkspaceSettings({ workspace }: { workspace: Workspace }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState(workspace.name);
  const [follows, setFollows] = useState<string>(workspace.automatic_updates);
  const save = useMutation({
    mutationFn: async () => {
      if (follows !== workspace.automatic_updates) {
        await api.put('/workspaces/{workspace}/autoupdates', {
          path: { workspace: workspace.id },
          body: { automatic_updates: follows as 'always' | 'never' },
        });
      }
      if (name !== workspace.name)
        await api.patch('/workspaces/{workspace}', { path: { workspace: workspace.id }, body: { name } });
    },
    onSuccess: async () => {
      notifySuccess('Workspace saved');
      if (name !== workspace.name)
        await navigate({
          to: '/@{$owner}/$workspace',
          params: { owner: workspace.owner_name, workspace: name },
          search: { tab: 'settings' },
          replace: true,
        });
      await client.invalidateQueries({ queryKey: ['workspace'] });
    },
  });
  return (
    <Stack maw={720}>
      <SettingsForm
        error={save.error}
        pending={save.isPending}
        disabled={name === workspace.name && follows === workspace.automatic_updates}
        onSave={() => save.mutate()}
      >
        <NameField
          value={name}
          onChange={setName}
          tried
          disabled={!workspace.allow_renames}
          description={
            workspace.allow_renames
              ? 'Renaming can lose data that the template stores under the name.'
              : 'This deployment does not allow renaming workspaces.'
          }
          error={getFieldError(save.error, 'name')}
        />
        <Select
          label="Automatic updates"
          data={[
            { value: 'never', label: 'Never: update manually' },
            { value: 'always', label: 'Always: update on start' },
          ]}
          value={follows}
          onChange={(v) => setFollows(v ?? 'never')}
          allowDeselect={false}
        />
      </SettingsForm>
    </Stack>
  );
}
