import { Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client';
import { usePermissionChecks } from '../../api/permissions';

interface Props {
  organization: string;
  /** The id of the owner. */
  value: string;
  self: { id: string; username: string };
  onChange: (id: string, username: string) => void;
  error?: string;
}

/** Selects the owner of a new workspace. Hidden for users who can only create their own. */
export function OwnerSelect({ organization, value, self, onChange, error }: Props) {
  const [typed, setTyped] = useState('');
  const [q] = useDebouncedValue(typed, 250);
  const [chosen, setChosen] = useState({
    value: self.id,
    username: self.username,
    label: `${self.username} (you)`,
  });
  const may = usePermissionChecks({ others: { on: 'workspace', action: 'create', organization } });
  const found = useQuery({
    queryKey: ['members', organization, q],
    queryFn: () =>
      api.get('/organizations/{organization}/paginated-members', {
        path: { organization },
        query: { q: q === chosen.label ? '' : q, limit: 25 },
      }),
    placeholderData: keepPreviousData,
    enabled: may.others,
  });
  if (!may.others) return null;
  const members = (found.data?.members ?? []).map((member) => ({
    value: member.user_id,
    username: member.username,
    label:
      member.user_id === self.id
        ? `${member.username} (you)`
        : member.name
          ? `${member.username} (${member.name})`
          : member.username,
  }));
  const data = members.some((m) => m.value === chosen.value) ? members : [chosen, ...members];
  return (
    <Select
      label="Owner"
      description="The workspace counts against the quota of its owner."
      searchable
      allowDeselect={false}
      data={data}
      filter={({ options }) => options}
      searchValue={typed}
      onSearchChange={setTyped}
      nothingFoundMessage="No members found"
      value={value}
      onChange={(id) => {
        const c = data.find((d) => d.value === id);
        if (!c) return;
        setChosen(c);
        onChange(c.value, c.username);
      }}
      error={error ?? found.error?.message}
    />
  );
}
