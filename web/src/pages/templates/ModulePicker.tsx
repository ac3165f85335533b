import { Checkbox, Group, NumberInput, Paper, SimpleGrid, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Schema } from '../../api/client';
import { ErrorAlert, getFieldError } from '../../components/ErrorAlert';
import { Icon } from '../../components/Icon';
import { Loading } from '../../components/Loading';
import { modulesQuery } from './queries';

type Module = Schema<'TemplateModule'>;
type Chosen = Schema<'ComposeTemplateModule'>;

interface Props {
  chosen: Chosen[];
  onChange: (chosen: Chosen[]) => void;
  /** The error of the composition, displayed at the setting that it names. */
  error: Error | null;
  disabled: boolean;
}

/** The modules of a new template, with their settings. */
export function ModulePicker({ chosen, onChange, error, disabled }: Props) {
  const modules = useQuery(modulesQuery);
  if (modules.isPending) return <Loading />;
  return (
    <>
      <ErrorAlert error={modules.error} />
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xs">
        {modules.data?.map((module) => (
          <ModuleCard
            key={module.id}
            module={module}
            chosen={chosen.find((c) => c.id === module.id)}
            error={error}
            disabled={disabled}
            onChange={(next) => {
              const others = chosen.filter((c) => c.id !== module.id);
              onChange(next ? [...others, next] : others);
            }}
          />
        ))}
      </SimpleGrid>
    </>
  );
}

interface CardProps {
  module: Module;
  chosen: Chosen | undefined;
  error: Error | null;
  disabled: boolean;
  onChange: (chosen: Chosen | undefined) => void;
}

function ModuleCard({ module, chosen, error, disabled, onChange }: CardProps) {
  return (
    <Paper withBorder p="sm">
      <Checkbox
        checked={chosen !== undefined}
        disabled={disabled}
        onChange={(e) => onChange(e.currentTarget.checked ? { id: module.id, settings: {} } : undefined)}
        label={
          <Group gap="xs" wrap="nowrap" component="span">
            <Icon src={module.icon} name={module.name} size={20} />
            <Text component="span" size="sm" fw={600}>
              {module.name}
            </Text>
          </Group>
        }
        description={module.description}
      />
      {chosen && module.settings.length > 0 && (
        <Stack gap="xs" mt="sm">
          {module.settings.map((setting) => (
            <Setting
              key={setting.name}
              setting={setting}
              value={chosen.settings[setting.name] ?? setting.default}
              error={getFieldError(error, setting.name)}
              disabled={disabled}
              onChange={(value) => onChange({ ...chosen, settings: { ...chosen.settings, [setting.name]: value } })}
            />
          ))}
        </Stack>
      )}
    </Paper>
  );
}

interface SettingProps {
  setting: Schema<'TemplateModuleSetting'>;
  value: string;
  error: string | undefined;
  disabled: boolean;
  onChange: (value: string) => void;
}

function Setting({ setting, value, error, disabled, onChange }: SettingProps) {
  const common = { label: setting.name, description: setting.description, error, disabled, size: 'xs' as const };
  if (setting.type === 'bool')
    return (
      <Switch {...common} checked={value === 'true'} onChange={(e) => onChange(String(e.currentTarget.checked))} />
    );
  if (setting.type === 'number')
    return <NumberInput {...common} value={value} onChange={(next) => onChange(String(next))} />;
  return <TextInput {...common} value={value} onChange={(e) => onChange(e.currentTarget.value)} />;
}
