import '@mantine/core/styles/Slider.css';
import { Checkbox, Group, MultiSelect, NumberInput, Radio, Select, Slider, Stack, Switch, TagsInput, Text, TextInput, Textarea } from '@mantine/core';
import { type Parameter, parseList } from './parameter';

interface Props {
  parameter: Parameter;
  value: string;
  onChange: (value: string) => void;
  error?: string;
  disabled?: boolean;
}

/** The form control of a parameter, by its form type, else by its type. */
export function ParameterField({ parameter: p, value, onChange, error, disabled }: Props) {
  const common = {
    label: p.display_name || p.name,
    description: p.description_plaintext || undefined,
    required: p.required,
    withAsterisk: p.required,
    error,
    disabled,
    name: p.name,
  };
  const options = p.options.map((o) => ({ value: o.value, label: o.name }));
  if (p.type === 'list(string)') return <ListField {...common} options={options} value={value} onChange={onChange} />;
  if (p.form_type === 'radio' || (p.options.length > 0 && p.form_type !== 'dropdown')) {
    return (
      <Radio.Group {...common} value={value} onChange={onChange}>
        <Stack gap="xs" mt="xs">
          {p.options.map((o) => (
            <Radio key={o.value} value={o.value} label={o.name} description={o.description || undefined} disabled={disabled} />
          ))}
        </Stack>
      </Radio.Group>
    );
  }
  if (p.options.length > 0) {
    return <Select {...common} data={options} value={value || null} onChange={(v) => onChange(v ?? '')} searchable={options.length > 8} clearable={!p.required} />;
  }
  if (p.type === 'bool') {
    const checked = value === 'true';
    const set = (on: boolean) => onChange(on ? 'true' : 'false');
    if (p.form_type === 'switch') return <Switch {...common} required={false} checked={checked} onChange={(e) => set(e.currentTarget.checked)} />;
    return <Checkbox {...common} required={false} checked={checked} onChange={(e) => set(e.currentTarget.checked)} />;
  }
  if (p.type === 'number') {
    const min = p.validation_min ?? undefined;
    const max = p.validation_max ?? undefined;
    if (p.form_type === 'slider' && min !== undefined && max !== undefined) {
      return (
        <div>
          <Group justify="space-between">
            <Text size="sm" fw={500} id={`slider-${p.name}`}>
              {common.label}
            </Text>
            <Text size="sm">{value}</Text>
          </Group>
          {common.description && (
            <Text size="xs" c="dimmed">
              {common.description}
            </Text>
          )}
          <Slider min={min} max={max} value={Number(value) || min} onChange={(n) => onChange(String(n))} disabled={disabled} thumbProps={{ 'aria-labelledby': `slider-${p.name}` }} label={null} />
          {error && (
            <Text size="xs" c="red">
              {error}
            </Text>
          )}
        </div>
      );
    }
    return <NumberInput {...common} value={value} onChange={(v) => onChange(String(v))} min={min} max={max} clampBehavior="none" />;
  }
  if (p.form_type === 'textarea') return <Textarea {...common} autosize minRows={3} maxRows={16} value={value} onChange={(e) => onChange(e.currentTarget.value)} />;
  return <TextInput {...common} value={value} onChange={(e) => onChange(e.currentTarget.value)} autoComplete="off" />;
}

interface ListProps {
  label: string;
  options: { value: string; label: string }[];
  value: string;
  onChange: (value: string) => void;
}

function ListField({ options, value, onChange, ...common }: ListProps) {
  const list = parseList(value) ?? [];
  const set = (items: string[]) => onChange(JSON.stringify(items));
  if (options.length > 0) return <MultiSelect {...common} data={options} value={list} onChange={set} searchable clearable />;
  return <TagsInput {...common} value={list} onChange={set} placeholder="Type a value, then Enter" />;
}
