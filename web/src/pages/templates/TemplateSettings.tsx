import { NumberInput, Select, Stack, Switch, TextInput, Textarea } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type Schema, api } from '../../api/client';
import { DeleteSection } from '../../components/DeleteSection';
import { IconInput } from '../../components/IconInput';
import { getFieldError } from '../../components/ErrorAlert';
import { SettingsForm } from '../../components/SettingsForm';
import { notifySuccess } from '../../components/confirm';
import { EditConflict } from './EditConflict';
import { type Template, useTemplateRights } from './queries';
import { useTemplateFields, useSaveTemplate } from './settingsForm';

const readFields = (template: Template) => ({
  name: template.name,
  display_name: template.display_name,
  description: template.description,
  icon: template.icon,
  deprecation_message: template.deprecation_message,
  require_active_version: template.require_active_version,
  allow_user_cancel_workspace_jobs: template.allow_user_cancel_workspace_jobs,
  max_port_share_level: template.max_port_share_level,
  cors_behavior: template.cors_behavior,
  use_classic_parameter_flow: template.use_classic_parameter_flow,
  disable_module_cache: template.disable_module_cache,
  disable_user_secrets: template.disable_user_secrets,
  max_concurrent_builds: template.max_concurrent_builds as string | number,
  prebuild_budget: template.prebuild_budget as string | number,
});

/** The settings of a template. */
export default function TemplateSettings({ template }: { template: Template }) {
  const { f, setF, base, conflict, begin, saved } = useTemplateFields(template, readFields);
  const save = useSaveTemplate(base, 'settings', f, saved);
  const error = (field: string) => getFieldError(save.error, field);
  const set =
    <K extends keyof typeof f>(k: K) =>
    (v: (typeof f)[K]) =>
      setF((old) => ({ ...old, [k]: v }));
  const typed = (k: 'name' | 'display_name' | 'description' | 'icon' | 'deprecation_message') => ({
    value: f[k],
    onChange: (e: { currentTarget: { value: string } }) => set(k)(e.currentTarget.value),
    error: error(k),
  });
  const on = (
    k:
      | 'require_active_version'
      | 'allow_user_cancel_workspace_jobs'
      | 'use_classic_parameter_flow'
      | 'disable_module_cache'
      | 'disable_user_secrets',
  ) => ({
    checked: f[k],
    onChange: (e: { currentTarget: { checked: boolean } }) => set(k)(e.currentTarget.checked),
  });
  return (
    <Stack maw={760}>
      <SettingsForm
        error={save.error}
        pending={save.isPending}
        onSave={() =>
          save.mutate({
            ...f,
            max_concurrent_builds: Number(f.max_concurrent_builds) || 0,
            prebuild_budget: Number(f.prebuild_budget) || 0,
          })
        }
      >
        {conflict && <EditConflict template={template} begin={begin} />}
        <TextInput
          label="Name"
          required
          description="Used in URLs and in the CLI. Renaming breaks existing links."
          {...typed('name')}
        />
        <TextInput label="Display name" {...typed('display_name')} />
        <Textarea label="Description" autosize minRows={2} maxRows={6} {...typed('description')} />
        <IconInput {...typed('icon')} />
        <NumberInput
          label="Concurrent builds"
          description="Maximum number of workspace builds that run at the same time. 0 means no limit."
          min={0}
          allowDecimal={false}
          value={f.max_concurrent_builds}
          onChange={set('max_concurrent_builds')}
          error={error('max_concurrent_builds')}
        />
        <NumberInput
          label="Prebuild budget"
          description="Largest number of prebuilt workspaces that the template keeps by demand. 0 keeps what its presets define."
          min={0}
          allowDecimal={false}
          value={f.prebuild_budget}
          onChange={set('prebuild_budget')}
          error={error('prebuild_budget')}
        />
        <Switch
          label="Require the active version"
          description="Workspaces update to the active version on start. Template admins are exempt."
          {...on('require_active_version')}
        />
        <Switch
          label="Allow users to cancel builds"
          description="Canceling may leave orphaned resources."
          {...on('allow_user_cancel_workspace_jobs')}
        />
        <Switch
          label="Classic parameters"
          description="Evaluates parameters once per version instead of dynamically while a user edits the form."
          {...on('use_classic_parameter_flow')}
        />
        <Switch
          label="Disable module cache"
          description="Downloads Terraform modules for every build instead of using those from the import."
          {...on('disable_module_cache')}
        />
        <Switch
          label="Disable user secrets"
          description="Workspaces do not get the secrets of their owners. Running workspaces lose them immediately."
          {...on('disable_user_secrets')}
        />
        <Select
          label="Maximum port sharing level"
          allowDeselect={false}
          data={[
            { value: 'owner', label: 'Owner' },
            { value: 'organization', label: 'Organization members' },
            { value: 'authenticated', label: 'Authenticated users' },
            { value: 'public', label: 'Public' },
          ]}
          value={f.max_port_share_level}
          onChange={(v) => set('max_port_share_level')((v ?? 'owner') as Schema<'WorkspaceAgentPortShareLevel'>)}
          error={error('max_port_share_level')}
        />
        <Select
          label="CORS behavior"
          allowDeselect={false}
          data={[
            { value: 'simple', label: 'Simple: the server answers, same site only' },
            { value: 'passthru', label: 'Passthrough: the app answers' },
          ]}
          value={f.cors_behavior}
          onChange={(v) => set('cors_behavior')((v ?? 'simple') as Schema<'CORSBehavior'>)}
        />
        <Textarea
          label="Deprecation message"
          description="A template with a message is deprecated: new workspaces cannot be created from it."
          autosize
          minRows={1}
          maxRows={6}
          {...typed('deprecation_message')}
        />
      </SettingsForm>
      <DeleteTemplate template={template} />
    </Stack>
  );
}

function DeleteTemplate({ template }: { template: Template }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const may = useTemplateRights(template);
  const remove = useMutation({
    mutationFn: () => api.delete('/templates/{template}', { path: { template: template.id } }),
    onSuccess: async () => {
      notifySuccess(`Template ${template.display_name || template.name} deleted`);
      await navigate({ to: '/templates', search: {} });
      await client.invalidateQueries({ queryKey: ['templates'] });
    },
  });
  if (!may.remove) return null;
  return (
    <DeleteSection
      kind="template"
      name={template.name}
      title={template.display_name || template.name}
      description="Deletes the template with all of its versions. Delete its workspaces first."
      warning="Deletes the template with all of its versions and files. This cannot be undone."
      error={remove.error}
      pending={remove.isPending}
      onConfirm={() => remove.mutate()}
    />
  );
}
