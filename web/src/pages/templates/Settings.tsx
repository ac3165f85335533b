import { NumberInput, Select, Stack, Switch, TextInput, Textarea } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type Schema, api } from '../../api/client';
import { DeletePart } from '../../parts/DeletePart';
import { fieldError } from '../../parts/Refusal';
import { SaveForm } from '../../parts/SaveForm';
import { praise } from '../../parts/confirm';
import { Conflict } from './Conflict';
import { type Template, useTemplateRights } from './data';
import { useFields, useSave } from './form';

const fields = (t: Template) => ({
  name: t.name,
  display_name: t.display_name,
  description: t.description,
  icon: t.icon,
  deprecation_message: t.deprecation_message,
  require_active_version: t.require_active_version,
  allow_user_cancel_workspace_jobs: t.allow_user_cancel_workspace_jobs,
  max_port_share_level: t.max_port_share_level,
  cors_behavior: t.cors_behavior,
  use_classic_parameter_flow: t.use_classic_parameter_flow,
  disable_module_cache: t.disable_module_cache,
  max_concurrent_builds: t.max_concurrent_builds as string | number,
});

/** How the template is called and what it lets workspaces do. */
export default function Settings({ t }: { t: Template }) {
  const { f, setF, base, conflict, begin } = useFields(t, fields);
  const save = useSave(base, 'settings', begin);
  const error = (field: string) => fieldError(save.error, field);
  const set = <K extends keyof typeof f>(k: K) => (v: (typeof f)[K]) => setF((old) => ({ ...old, [k]: v }));
  const typed = (k: 'name' | 'display_name' | 'description' | 'icon' | 'deprecation_message') => ({
    value: f[k],
    onChange: (e: { currentTarget: { value: string } }) => set(k)(e.currentTarget.value),
    error: error(k),
  });
  const on = (k: 'require_active_version' | 'allow_user_cancel_workspace_jobs' | 'use_classic_parameter_flow' | 'disable_module_cache') => ({
    checked: f[k],
    onChange: (e: { currentTarget: { checked: boolean } }) => set(k)(e.currentTarget.checked),
  });
  return (
    <Stack maw={760}>
      <SaveForm error={save.error} pending={save.isPending} onSave={() => save.mutate({ ...f, max_concurrent_builds: Number(f.max_concurrent_builds) || 0 })}>
        {conflict && <Conflict t={t} begin={begin} />}
        <TextInput label="Name" required description="Part of its address and of commands. Old links end when it changes." {...typed('name')} />
        <TextInput label="Display name" {...typed('display_name')} />
        <Textarea label="Description" autosize minRows={2} maxRows={6} {...typed('description')} />
        <TextInput label="Icon" description="The address of a picture, such as /icon/docker.svg." {...typed('icon')} />
        <NumberInput
          label="Builds at once"
          description="How many builds of its workspaces may run at the same time; others wait. 0: as many as there are provisioners."
          min={0}
          allowDecimal={false}
          value={f.max_concurrent_builds}
          onChange={set('max_concurrent_builds')}
          error={error('max_concurrent_builds')}
        />
        <Switch label="Workspaces are updated at every start" description="Only the active version may be started, except by template administrators." {...on('require_active_version')} />
        <Switch label="Owners may cancel builds" description="Canceling in the middle can leave things behind that no one counts." {...on('allow_user_cancel_workspace_jobs')} />
        <Switch label="Parameters do not depend on each other" description="The form is made once from the version, not while somebody fills it in." {...on('use_classic_parameter_flow')} />
        <Switch label="Download modules for every build" description="Else those that the import found are kept." {...on('disable_module_cache')} />
        <Select
          label="Ports of workspaces may be shared with"
          allowDeselect={false}
          data={[
            { value: 'owner', label: 'Nobody else' },
            { value: 'organization', label: 'Members of the organization' },
            { value: 'authenticated', label: 'Everybody who is logged in' },
            { value: 'public', label: 'Everybody' },
          ]}
          value={f.max_port_share_level}
          onChange={(v) => set('max_port_share_level')((v ?? 'owner') as Schema<'WorkspaceAgentPortShareLevel'>)}
          error={error('max_port_share_level')}
        />
        <Select
          label="Requests from other sites to apps"
          allowDeselect={false}
          data={[
            { value: 'simple', label: 'Answered by the server: own sites only' },
            { value: 'passthru', label: 'Answered by the app itself' },
          ]}
          value={f.cors_behavior}
          onChange={(v) => set('cors_behavior')((v ?? 'simple') as Schema<'CORSBehavior'>)}
        />
        <Textarea label="Deprecated, because" description="While this says something, no new workspaces are made of it. Say what to use instead." autosize minRows={1} maxRows={6} {...typed('deprecation_message')} />
      </SaveForm>
      <Delete t={t} />
    </Stack>
  );
}

function Delete({ t }: { t: Template }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const may = useTemplateRights(t);
  const remove = useMutation({
    mutationFn: () => api.delete('/templates/{template}', { path: { template: t.id } }),
    onSuccess: async () => {
      praise(`${t.display_name || t.name} is deleted`);
      await navigate({ to: '/templates', search: {} });
      await client.invalidateQueries({ queryKey: ['templates'] });
    },
  });
  if (!may.remove) return null;
  return (
    <DeletePart
      what="template"
      name={t.name}
      title={t.display_name || t.name}
      about="The template and all of its versions. One that still has workspaces cannot be deleted."
      lost="The template, all of its versions and their files. Nobody can make workspaces of it any more."
      error={remove.error}
      pending={remove.isPending}
      onYes={() => remove.mutate()}
    />
  );
}
