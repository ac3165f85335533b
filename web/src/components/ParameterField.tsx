import '@mantine/core/styles/Slider.css';
import {
  Checkbox,
  Group,
  Input,
  MultiSelect,
  NumberInput,
  PasswordInput,
  Radio,
  Select,
  Slider,
  Stack,
  Switch,
  TagsInput,
  Text,
  TextInput,
  Textarea,
} from '@mantine/core';
import { type ReactNode, useId } from 'react';
import type { FormParameter } from '../lib/dynamicParameters';
import { parseList } from '../lib/parameter';
import { Icon } from './Icon';
import { MarkdownText } from './MarkdownText';
import { formatNumber } from '../lib/text';

interface Props {
  parameter: FormParameter;
  value: string;
  onChange: (value: string) => void;
  error?: string;
  /** Why the value cannot be changed; the field is disabled. */
  lock?: string;
}

/** The properties that all kinds of fields share. */
interface FieldProps {
  parameter: FormParameter;
  value: string;
  onChange: (value: string) => void;
  common: {
    label: ReactNode;
    description: ReactNode;
    descriptionProps: { component: 'div' };
    required: boolean;
    withAsterisk: boolean;
    error?: string;
    disabled: boolean;
    name: string;
    placeholder?: string;
  };
}

/** The form control of a parameter, chosen by its form type, else by its type. */
export function ParameterField({ parameter, value, onChange, error, lock }: Props) {
  const Field = fields[kindOf(parameter)];
  return (
    <Field
      parameter={parameter}
      value={value}
      onChange={onChange}
      common={{
        label: <Label parameter={parameter} />,
        description: <Description parameter={parameter} lock={lock} />,
        descriptionProps: { component: 'div' },
        required: parameter.required,
        withAsterisk: parameter.required,
        error,
        disabled: lock !== undefined,
        name: parameter.name,
        placeholder: parameter.placeholder || undefined,
      }}
    />
  );
}

const fields = {
  list: ListField,
  radio: RadioField,
  select: SelectField,
  switch: SwitchField,
  checkbox: CheckboxField,
  slider: SliderField,
  number: NumberField,
  textarea: TextareaField,
  text: TextField,
};

function kindOf({ type, form_type, options, validation_min, validation_max }: FormParameter): keyof typeof fields {
  if (type === 'list(string)') return 'list';
  if (form_type === 'radio' || (options.length > 0 && form_type !== 'dropdown')) return 'radio';
  if (options.length > 0) return 'select';
  if (type === 'bool') return form_type === 'switch' ? 'switch' : 'checkbox';
  if (type === 'number') {
    const bounded = typeof validation_min === 'number' && typeof validation_max === 'number';
    return form_type === 'slider' && bounded ? 'slider' : 'number';
  }
  return form_type === 'textarea' ? 'textarea' : 'text';
}

function Label({ parameter }: { parameter: FormParameter }) {
  const name = parameter.display_name || parameter.name;
  if (!parameter.icon) return name;
  return (
    <Group component="span" display="inline-flex" gap={6}>
      <Icon src={parameter.icon} name={name} size={18} />
      {name}
    </Group>
  );
}

/** The description, and what is special about the value. */
function Description({ parameter, lock }: { parameter: FormParameter; lock?: string }) {
  const marks = [
    lock,
    !parameter.mutable && lock === undefined && 'Cannot be changed later.',
    parameter.ephemeral && 'Applies to the next build only.',
    parameter.warning,
  ].filter(Boolean);
  if (!parameter.description && marks.length === 0) return undefined;
  return (
    <>
      <MarkdownText text={parameter.description} />
      {marks.length > 0 && (
        <Text size="xs" fs="italic" span display="block">
          {marks.join(' ')}
        </Text>
      )}
    </>
  );
}

function RadioField({ parameter, value, onChange, common }: FieldProps) {
  return (
    <Radio.Group {...common} value={value} onChange={onChange}>
      <Stack gap="xs" mt="xs">
        {parameter.options.map((o) => (
          <Radio
            key={o.value}
            value={o.value}
            disabled={common.disabled}
            description={o.description || undefined}
            label={
              <Group component="span" display="inline-flex" gap={6}>
                {o.icon && <Icon src={o.icon} name={o.name} size={18} />}
                {o.name}
              </Group>
            }
          />
        ))}
      </Stack>
    </Radio.Group>
  );
}

function SelectField({ parameter, value, onChange, common }: FieldProps) {
  const { options } = parameter;
  const known = new Map(options.map((o) => [o.value, o]));
  const chosen = known.get(value);
  return (
    <Select
      {...common}
      data={options.map((o) => ({ value: o.value, label: o.name }))}
      value={chosen ? value : null}
      onChange={(v) => onChange(v ?? '')}
      searchable={options.length > 8}
      clearable={!parameter.required}
      leftSection={chosen?.icon ? <Icon src={chosen.icon} name={chosen.name} size={18} /> : undefined}
      renderOption={({ option }) => {
        const o = known.get(option.value);
        return (
          <Group gap="sm" wrap="nowrap">
            {o?.icon && <Icon src={o.icon} name={o.name} size={20} />}
            <div>
              <Text size="sm">{option.label}</Text>
              {o?.description && (
                <Text size="xs" c="dimmed">
                  {o.description}
                </Text>
              )}
            </div>
          </Group>
        );
      }}
    />
  );
}

const booleanProps = ({ parameter, value, onChange, common }: FieldProps) => ({
  ...common,
  label: parameter.label || common.label,
  required: false,
  checked: value === 'true',
  onChange: (e: { currentTarget: { checked: boolean } }) => onChange(String(e.currentTarget.checked)),
});

function CheckboxField(props: FieldProps) {
  return <Checkbox {...booleanProps(props)} />;
}

function SwitchField(props: FieldProps) {
  return <Switch {...booleanProps(props)} />;
}

function NumberField({ parameter, value, onChange, common }: FieldProps) {
  const min = parameter.validation_min ?? undefined;
  const max = parameter.validation_max ?? undefined;
  return <NumberInput {...common} value={value} onChange={(v) => onChange(String(v))} min={min} max={max} />;
}

function SliderField({ parameter, value, onChange, common }: FieldProps) {
  const id = useId();
  const [min, max] = [parameter.validation_min ?? 0, parameter.validation_max ?? 0];
  const { label, description, descriptionProps, required, error, disabled } = common;
  return (
    <Input.Wrapper
      label={label}
      labelElement="div"
      labelProps={{ id }}
      description={description}
      descriptionProps={descriptionProps}
      withAsterisk={required}
      error={error}
    >
      <Group wrap="nowrap" mt={6} mb={18}>
        <Slider
          flex={1}
          min={min}
          max={max}
          value={value === '' ? min : Number(value)}
          onChange={(n) => onChange(String(n))}
          disabled={disabled}
          marks={[min, max].map((n) => ({ value: n, label: formatNumber(n) }))}
          thumbProps={{ 'aria-labelledby': id }}
          label={null}
        />
        <NumberInput
          w={96}
          aria-labelledby={id}
          value={value}
          onChange={(n) => onChange(String(n))}
          min={min}
          max={max}
          disabled={disabled}
          error={error !== undefined}
        />
      </Group>
    </Input.Wrapper>
  );
}

function TextareaField({ parameter, value, onChange, common }: FieldProps) {
  return (
    <Textarea
      {...common}
      autosize
      minRows={3}
      maxRows={16}
      value={value}
      onChange={(e) => onChange(e.currentTarget.value)}
      autoComplete="off"
      styles={parameter.masked ? { input: { WebkitTextSecurity: 'disc' } as React.CSSProperties } : undefined}
    />
  );
}

function TextField({ parameter, value, onChange, common }: FieldProps) {
  const props = {
    ...common,
    value,
    onChange: (e: { currentTarget: { value: string } }) => onChange(e.currentTarget.value),
  };
  return parameter.masked ? (
    <PasswordInput {...props} autoComplete="new-password" />
  ) : (
    <TextInput {...props} autoComplete="off" />
  );
}

function ListField({ parameter, value, onChange, common }: FieldProps) {
  const list = parseList(value) ?? [];
  const set = (items: string[]) => onChange(JSON.stringify(items));
  const data = parameter.options.map((o) => ({ value: o.value, label: o.name }));
  if (data.length > 0) return <MultiSelect {...common} data={data} value={list} onChange={set} searchable clearable />;
  return (
    <TagsInput
      {...common}
      value={list}
      onChange={set}
      placeholder={common.placeholder ?? 'Enter a value and press Enter'}
    />
  );
}
