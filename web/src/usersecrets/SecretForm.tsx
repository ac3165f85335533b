import { Button, Checkbox, Stack, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../api/client';
import { ErrorAlert, getFieldError } from '../components/ErrorAlert';
import { Form } from '../components/Form';
import { modals } from '../components/dialogs';

export const secretsKey = ['user-secrets'];

const path = { user: 'me' };

/** The form for a new secret, or for changes of one. The value of an existing secret is not known here. */
export function SecretForm({ secret }: { secret?: Schema<'UserSecret'> }) {
  const client = useQueryClient();
  const [name, setName] = useState('');
  const [value, setValue] = useState('');
  const [description, setDescription] = useState(secret?.description ?? '');
  const [variable, setVariable] = useState(secret?.env_name ?? '');
  const [file, setFile] = useState(secret?.file_path ?? '');
  const [enabled, setEnabled] = useState(secret?.enabled ?? true);
  const save = useMutation({
    mutationFn: () => {
      const body = { description, env_name: variable, file_path: file, enabled };
      if (!secret) return api.post('/users/{user}/secrets', { path, body: { ...body, name, value } });
      return api.patch('/users/{user}/secrets/{secret}', {
        path: { ...path, secret: secret.name },
        body: value === '' ? body : { ...body, value },
      });
    },
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: secretsKey });
      modals.closeAll();
    },
  });
  const fieldError = (field: string) => getFieldError(save.error, field);
  return (
    <Form
      error={save.error}
      onSubmit={() => {
        save.mutate();
      }}
    >
      <Stack>
        <ErrorAlert error={save.error} />
        {!secret && (
          <TextInput
            data-autofocus
            label="Name"
            required
            autoComplete="off"
            spellCheck={false}
            value={name}
            onChange={(e) => setName(e.currentTarget.value)}
            error={fieldError('name')}
          />
        )}
        <Textarea
          label={secret ? 'New value' : 'Value'}
          description={secret ? 'Empty keeps the current value.' : 'It is not shown again.'}
          required={!secret}
          autosize
          minRows={2}
          maxRows={8}
          autoComplete="off"
          spellCheck={false}
          value={value}
          onChange={(e) => setValue(e.currentTarget.value)}
          error={fieldError('value')}
        />
        <TextInput
          label="Environment variable"
          placeholder="NPM_TOKEN"
          autoComplete="off"
          spellCheck={false}
          value={variable}
          onChange={(e) => setVariable(e.currentTarget.value)}
          error={fieldError('env_name')}
        />
        <TextInput
          label="File"
          description="Below your home directory."
          placeholder="~/.npmrc"
          autoComplete="off"
          spellCheck={false}
          value={file}
          onChange={(e) => setFile(e.currentTarget.value)}
          error={fieldError('file_path')}
        />
        <TextInput
          label="Description"
          value={description}
          onChange={(e) => setDescription(e.currentTarget.value)}
          error={fieldError('description')}
        />
        <Checkbox label="Enabled" checked={enabled} onChange={(e) => setEnabled(e.currentTarget.checked)} />
        <Button type="submit" loading={save.isPending}>
          {secret ? 'Save' : 'Create secret'}
        </Button>
      </Stack>
    </Form>
  );
}
