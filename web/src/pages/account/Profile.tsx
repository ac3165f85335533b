import { Badge, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type Schema, api } from '../../api/client';
import { Refusal, fieldError } from '../../parts/Refusal';
import { praise } from '../../parts/confirm';

/** Names, and the roles one has. */
export function Profile({ self }: { self: Schema<'User'> }) {
  const client = useQueryClient();
  const [username, setUsername] = useState(self.username);
  const [name, setName] = useState(self.name ?? '');
  const save = useMutation({
    mutationFn: () => api.put('/users/{user}/profile', { path: { user: 'me' }, body: { username, name } }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['me'] });
      praise('Saved');
    },
  });
  return (
    <form
      onSubmit={(e: FormEvent) => {
        e.preventDefault();
        save.mutate();
      }}
    >
      <Stack maw={520}>
        <Refusal error={save.error} />
        <TextInput
          label="Username"
          required
          value={username}
          onChange={(e) => setUsername(e.currentTarget.value)}
          description="It is part of the addresses of your workspaces."
          error={fieldError(save.error, 'username')}
        />
        <TextInput label="Full name" value={name} onChange={(e) => setName(e.currentTarget.value)} error={fieldError(save.error, 'name')} />
        <div>
          <Text size="sm" fw={500}>
            Roles
          </Text>
          <Group gap={4} mt={4}>
            {self.roles.length === 0 && <Text size="sm">Member</Text>}
            {self.roles.map((r) => (
              <Badge key={r.name} variant="light">
                {r.display_name || r.name}
              </Badge>
            ))}
          </Group>
        </div>
        <Group>
          <Button type="submit" loading={save.isPending} disabled={username === self.username && name === (self.name ?? '')}>
            Save
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
