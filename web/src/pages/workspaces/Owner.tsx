import { Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client';
import { useMay } from '../../api/permissions';

interface Props {
  organization: string;
  /** The id of who it will belong to. */
  value: string;
  self: { id: string; username: string };
  onChange: (id: string) => void;
  error?: string;
}

/** Whose workspace it will be; nothing for who may make only their own. */
export function Owner({ organization, value, self, onChange, error }: Props) {
  const [typed, setTyped] = useState('');
  const [q] = useDebouncedValue(typed, 250);
  const [chosen, setChosen] = useState<{ value: string; label: string }>({ value: self.id, label: `${self.username} (you)` });
  const may = useMay({ others: { on: 'workspace', action: 'create', organization } });
  const found = useQuery({
    queryKey: ['members', organization, q],
    queryFn: () => api.get('/organizations/{organization}/paginated-members', { path: { organization }, query: { q: q === chosen.label ? '' : q, limit: 25 } }),
    placeholderData: keepPreviousData,
    enabled: may.others,
  });
  if (!may.others) return null;
  const members = (found.data?.members ?? []).map((m) => ({ value: m.user_id, label: m.user_id === self.id ? `${m.username} (you)` : m.name ? `${m.username} (${m.name})` : m.username }));
  const data = members.some((m) => m.value === chosen.value) ? members : [chosen, ...members];
  return (
    <Select
      label="Owner"
      description="It counts against their budget, and is theirs alone until they share it."
      searchable
      allowDeselect={false}
      data={data}
      filter={({ options }) => options}
      searchValue={typed}
      onSearchChange={setTyped}
      nothingFoundMessage="No member of the organization is called so"
      value={value}
      onChange={(id) => {
        const c = data.find((d) => d.value === id);
        if (!c) return;
        setChosen(c);
        onChange(c.value);
      }}
      error={error ?? found.error?.message}
    />
  );
}
