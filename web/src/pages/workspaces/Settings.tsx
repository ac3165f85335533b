import { Select, Stack, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client';
import { fieldError } from '../../parts/Refusal';
import { SaveForm } from '../../parts/SaveForm';
import { praise } from '../../parts/confirm';
import type { Workspace } from './data';

/** Its name, and whether it follows its template. */
export function Settings({ w }: { w: Workspace }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState(w.name);
  const [follows, setFollows] = useState<string>(w.automatic_updates);
  const save = useMutation({
    mutationFn: async () => {
      if (follows !== w.automatic_updates) {
        await api.put('/workspaces/{workspace}/autoupdates', { path: { workspace: w.id }, body: { automatic_updates: follows as 'always' | 'never' } });
      }
      if (name !== w.name) await api.patch('/workspaces/{workspace}', { path: { workspace: w.id }, body: { name } });
    },
    onSuccess: async () => {
      praise('Saved');
      if (name !== w.name) await navigate({ to: '/@{$owner}/$workspace', params: { owner: w.owner_name, workspace: name }, search: { tab: 'settings' }, replace: true });
      await client.invalidateQueries({ queryKey: ['workspace'] });
    },
  });
  return (
    <Stack maw={720}>
      <SaveForm error={save.error} pending={save.isPending} disabled={name === w.name && follows === w.automatic_updates} onSave={() => save.mutate()}>
        <TextInput
          label="Name"
          value={name}
          onChange={(e) => setName(e.currentTarget.value)}
          disabled={!w.allow_renames}
          description={w.allow_renames ? 'Some templates keep things under the name; renaming can lose them.' : 'This deployment does not allow renaming.'}
          error={fieldError(save.error, 'name')}
        />
        <Select
          label="When the template has a newer version"
          data={[
            { value: 'never', label: 'Keep the version until I update' },
            { value: 'always', label: 'Update at the next start' },
          ]}
          value={follows}
          onChange={(v) => setFollows(v ?? 'never')}
          allowDeselect={false}
        />
      </SaveForm>
    </Stack>
  );
}
