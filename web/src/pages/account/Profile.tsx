import { Badge, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Schema, api } from '../../api/client';
import { Form } from '../../components/Form';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';
import { notifySuccess } from '../../components/confirm';

/** The names and roles of the signed-in user. */
export function Profile({ self }: { self: Schema<'User'> }) {
  const client = useQueryClient();
  const [username, setUsername] = useState(self.username);
  const [name, setName] = useState(self.name ?? '');
  const save = useMutation({
    mutationFn: () => api.put('/users/{user}/profile', { path: { user: 'me' }, body: { username, name } }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['me'] });
      notifySuccess('Profile saved');
    },
  });
  return (
    <Form
      error={save.error}
      onSubmit={() => {
        save.mutate();
      }}
    >
      <Stack maw={520}>
        <ErrorAlert error={save.error} />
        <TextInput
          label="Username"
          required
          value={username}
          onChange={(e) => setUsername(e.currentTarget.value)}
          description="Part of the URLs of your workspaces."
          error={getFieldError(save.error, 'username')}
        />
        <TextInput
          label="Full name"
          value={name}
          onChange={(e) => setName(e.currentTarget.value)}
          error={getFieldError(save.error, 'name')}
        />
        <div>
          <Text size="sm" fw={500}>
            Roles
          </Text>
          <Group gap={4} mt={4}>
            {self.roles.length === 0 && <Text size="sm">Member</Text>}
            {self.roles.map((role) => (
              <Badge key={role.name}>{role.display_name || role.name}</Badge>
            ))}
          </Group>
        </div>
        <Group>
          <Button
            type="submit"
            loading={save.isPending}
            disabled={username === self.username && name === (self.name ?? '')}
          >
            Save
          </Button>
        </Group>
      </Stack>
    </Form>
  );
}
