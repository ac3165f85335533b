import { Button, MultiSelect, Stack, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../api/client';
import { ErrorAlert, getFieldError } from '../components/ErrorAlert';
import { Form } from '../components/Form';
import { IconInput } from '../components/IconInput';
import { SettingsForm } from '../components/SettingsForm';
import { notifySuccess } from '../components/confirm';
import { modals } from '../components/dialogs';
import { type App, appQuery, oauth2Key } from './queries';

/** The input of an application's form. */
interface Fields {
  name: string;
  icon: string;
  /** One per line. */
  redirects: string;
  scopes: string[];
}

const emptyFields: Fields = { name: '', icon: '', redirects: '', scopes: [] };

/** Returns the words of a text, such as its lines or scopes. */
const splitWords = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '');

/** Returns the fields of an application for its form. */
const fieldsOf = (app: App): Fields => ({
  name: app.name,
  icon: app.icon,
  redirects: app.redirect_uris.join('\n'),
  scopes: splitWords(app.scope),
});

/** Returns the request that saves the fields. */
function bodyOf(fields: Fields): Schema<'PostOAuth2ProviderAppRequest'> {
  const redirects = splitWords(fields.redirects);
  return {
    name: fields.name,
    icon: fields.icon,
    callback_url: redirects[0] ?? '',
    redirect_uris: redirects,
    scope: fields.scopes.join(' '),
  };
}

type FieldErrors = Partial<Record<keyof Fields, string>>;

/** Returns the errors of a request by field. A form calls it before its alert renders, which then omits them. */
const fieldErrors = (error: Error | null): FieldErrors => ({
  name: getFieldError(error, 'name'),
  icon: getFieldError(error, 'icon'),
  redirects: getFieldError(error, 'redirect_uris'),
  scopes: getFieldError(error, 'scope'),
});

interface Props {
  value: Fields;
  onChange: (part: Partial<Fields>) => void;
  errors: FieldErrors;
}

function AppFields({ value, onChange, errors }: Props) {
  const known = useQuery({ queryKey: ['scopes'], queryFn: () => api.get('/auth/scopes') });
  return (
    <>
      <TextInput
        data-autofocus
        label="Name"
        description="Users see it when they authorize the application."
        required
        autoComplete="off"
        value={value.name}
        onChange={(e) => onChange({ name: e.currentTarget.value })}
        error={errors.name}
      />
      <IconInput value={value.icon} onChange={(e) => onChange({ icon: e.currentTarget.value })} error={errors.icon} />
      <Textarea
        label="Callback URLs"
        description="One per line. The browser returns to one of them with the authorization code."
        placeholder="https://app.example.com/callback"
        required
        autosize
        minRows={2}
        maxRows={8}
        spellCheck={false}
        value={value.redirects}
        onChange={(e) => onChange({ redirects: e.currentTarget.value })}
        error={errors.redirects}
      />
      <MultiSelect
        label="Scopes"
        description="The permissions that the application can ask for."
        placeholder={value.scopes.length === 0 ? 'All scopes' : undefined}
        searchable
        clearable
        clearButtonProps={{ 'aria-label': 'Clear scopes' }}
        data={[...new Set(['coder:all', ...(known.data?.external ?? []), ...value.scopes])]}
        value={value.scopes}
        onChange={(scopes) => onChange({ scopes })}
        error={errors.scopes}
      />
    </>
  );
}

/** The form for a new application. A dialog is outside of the router, so the page that opens it goes to the new one. */
export function CreateApp({ onCreated }: { onCreated: (app: App) => void }) {
  const client = useQueryClient();
  const [fields, setFields] = useState(emptyFields);
  const create = useMutation({
    mutationFn: () => api.post('/oauth2-provider/apps', { body: bodyOf(fields) }),
    onSuccess: async (app) => {
      client.setQueryData(appQuery(app.id).queryKey, app);
      modals.closeAll();
      onCreated(app);
      await client.invalidateQueries({ queryKey: oauth2Key, refetchType: 'none' });
    },
  });
  const errors = fieldErrors(create.error);
  return (
    <Form
      error={create.error}
      onSubmit={() => {
        create.mutate();
      }}
    >
      <Stack>
        <ErrorAlert error={create.error} />
        <AppFields value={fields} onChange={(part) => setFields((all) => ({ ...all, ...part }))} errors={errors} />
        <Button type="submit" loading={create.isPending}>
          Create application
        </Button>
      </Stack>
    </Form>
  );
}

/** The form for changes of an application. */
export function EditApp({ app }: { app: App }) {
  const client = useQueryClient();
  const [fields, setFields] = useState(() => fieldsOf(app));
  const save = useMutation({
    mutationFn: () => api.put('/oauth2-provider/apps/{app}', { path: { app: app.id }, body: bodyOf(fields) }),
    onMutate: () => fields,
    onSuccess: async (saved, _, sent) => {
      setFields((now) => (now === sent ? fieldsOf(saved) : now)); // what was typed during the save is kept
      client.setQueryData(appQuery(app.id).queryKey, saved);
      notifySuccess('Application saved');
      await client.invalidateQueries({ queryKey: oauth2Key, refetchType: 'none' });
    },
  });
  const errors = fieldErrors(save.error);
  return (
    <SettingsForm error={save.error} pending={save.isPending} onSave={() => save.mutate()}>
      <AppFields value={fields} onChange={(part) => setFields((all) => ({ ...all, ...part }))} errors={errors} />
    </SettingsForm>
  );
}
