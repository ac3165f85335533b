import {
  ActionIcon,
  Button,
  Checkbox,
  Group,
  NumberInput,
  PasswordInput,
  Radio,
  SegmentedControl,
  Select,
  SimpleGrid,
  Switch,
  Table,
  TagsInput,
  Text,
  TextInput,
  Textarea,
} from '@mantine/core';
import { IconBell, IconPlus, IconRefresh } from '@tabler/icons-react';
import { useState } from 'react';
import { CopyIcon, CopySnippet } from '../src/components/CopyButton';
import { DeleteSection } from '../src/components/DeleteSection';
import { ErrorAlert, getFieldError } from '../src/components/ErrorAlert';
import { Form } from '../src/components/Form';
import { NameField } from '../src/components/NameField';
import { Picture } from '../src/components/Picture';
import { SearchField } from '../src/components/SearchField';
import { confirm, confirmByName, notifyError, notifySuccess, notifyUndo, showSecret } from '../src/components/confirm';
import plain from '../src/components/plain.module.css';
import { invalidRequest, serverError } from './examples';
import { Example } from './Section';

const variants = [
  { name: 'Primary', variant: 'filled', color: undefined },
  { name: 'Secondary', variant: 'default', color: undefined },
  { name: 'Light', variant: 'light', color: undefined },
  { name: 'Subtle', variant: 'subtle', color: undefined },
  { name: 'Delete', variant: 'filled', color: 'red' },
  { name: 'Delete later', variant: 'light', color: 'red' },
];
const states = [
  { name: 'Default', props: {} },
  { name: 'Hover', props: { className: 'show-hover' } },
  { name: 'Focus', props: { className: 'show-focus' } },
  { name: 'Disabled', props: { disabled: true } },
  { name: 'Loading', props: { loading: true } },
];

const plainKinds = [
  { name: 'Primary', look: plain.filled },
  { name: 'Secondary', look: plain.default },
  { name: 'Light', look: plain.light },
  { name: 'Subtle', look: plain.subtle },
];

/** The plain elements of the frame and of the workspace list. */
function PlainElements() {
  return (
    <Example title="Plain elements" hint="The frame of all pages and the workspace list consist of these.">
      <Group>
        {plainKinds.map(({ name, look }) => (
          <button key={name} type="button" className={`${plain.button} ${look}`}>
            <span className={plain.label}>{name}</span>
          </button>
        ))}
        <button type="button" className={`${plain.button} ${plain.default}`} disabled>
          <span className={plain.label}>Disabled</span>
        </button>
        <button type="button" className={`${plain.button} ${plain.default} ${plain.chip}`}>
          <span className={plain.label}>Filter</span>
        </button>
      </Group>
      <Group>
        <button type="button" className={`${plain.icon} ${plain.large} ${plain.subtle}`} aria-label="3 notifications">
          <IconBell size={20} />
          <span className={plain.count}>3</span>
        </button>
        <button type="button" className={`${plain.icon} ${plain.subtle}`} aria-label="Refresh the list">
          <IconRefresh size={16} />
        </button>
        <Picture src={undefined} name="Template" size={30} />
        <Picture src={undefined} name="developer" size={30} className={`${plain.round} ${plain.brand}`} />
      </Group>
    </Example>
  );
}

/** The kinds of buttons in all states. */
export function Buttons() {
  return (
    <>
      <Example title="States">
        <Table.ScrollContainer minWidth={720}>
          <Table highlightOnHover={false}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Kind</Table.Th>
                {states.map((state) => (
                  <Table.Th key={state.name}>{state.name}</Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {variants.map(({ name, variant, color }) => (
                <Table.Tr key={name}>
                  <Table.Td>{name}</Table.Td>
                  {states.map((state) => (
                    <Table.Td key={state.name}>
                      <Button variant={variant} color={color} {...state.props}>
                        {name}
                      </Button>
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Example>
      <Example title="Sizes and icons">
        <Group>
          <Button leftSection={<IconPlus size={16} />}>Create workspace</Button>
          <Button size="xs" variant="default" leftSection={<IconRefresh size={14} />}>
            Retry
          </Button>
          <Button size="compact-sm" variant="default">
            Reload
          </Button>
          <ActionIcon variant="subtle" aria-label="Refresh">
            <IconRefresh size={16} />
          </ActionIcon>
          <CopyIcon text="coder ssh dev" label="Copy command" />
        </Group>
        <CopySnippet label="Connect with SSH" text="ssh dev.coder" />
      </Example>
      <PlainElements />
    </>
  );
}

/** Form fields, also disabled and with an error. */
export function Fields() {
  const [search, setSearch] = useState('');
  const [name, setName] = useState('dev');
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Example title="Fields">
        <SearchField value={search} onChange={setSearch} placeholder="Search workspaces" label="Search workspaces" />
        <TextInput label="Display name" description="What users see." placeholder="My template" />
        <TextInput label="Owner" defaultValue="developer" disabled />
        <PasswordInput label="Password" />
        <NumberInput label="CPU cores" defaultValue={4} min={1} max={16} />
        <Select label="Region" data={['Europe', 'America']} defaultValue="Europe" />
        <TagsInput label="Tags" defaultValue={['gpu']} />
        <Textarea label="Description" autosize minRows={2} />
        <Checkbox label="Start when I connect" description="SSH and web terminal." />
        <Radio label="Every day" />
        <Switch label="Automatic updates" defaultChecked />
        <SegmentedControl aria-label="Period" data={['Day', 'Week', 'Month']} />
      </Example>
      <Example title="Errors" hint="The field shows its own error; the alert shows the rest.">
        <Form error={invalidRequest} onSubmit={() => undefined}>
          <ErrorAlert error={invalidRequest} />
          <NameField value={name} onChange={setName} error={getFieldError(invalidRequest, 'name')} mt="md" />
          <NumberInput label="Disk in GiB" defaultValue={1} error="The disk has at least 10 GiB." mt="md" />
          <Select label="Size" data={['Small', 'Large']} error="Choose a size." mt="md" />
          <Checkbox label="Accept the terms" error="Accept the terms to continue." mt="md" />
        </Form>
      </Example>
    </SimpleGrid>
  );
}

/** Dialogs and notifications, each opened by a button. */
export function Actions() {
  const act = () => notifySuccess('Workspace restarted');
  const warning = 'The workspace and its disk are deleted.';
  return (
    <>
      <Example title="Dialogs" hint="A dialog states what happens; its button repeats the verb.">
        <Group>
          <Button
            variant="default"
            onClick={() =>
              confirm({
                title: 'Restart dev?',
                warning: 'Processes in the workspace end.',
                action: 'Restart workspace',
                onConfirm: act,
              })
            }
          >
            Restart…
          </Button>
          <Button
            variant="default"
            onClick={() =>
              confirmByName({ title: 'Delete dev?', warning, name: 'dev', action: 'Delete workspace', onConfirm: act })
            }
          >
            Delete by name…
          </Button>
          <Button
            variant="default"
            onClick={() => showSecret('Token created', 'example-secret', <Text span>Programs sign in with it.</Text>)}
          >
            Show secret
          </Button>
        </Group>
      </Example>
      <Example title="Notifications">
        <Group>
          <Button variant="default" onClick={() => notifySuccess('Settings saved')}>
            Success
          </Button>
          <Button variant="default" onClick={() => notifyUndo('Workspace stopped', () => undefined)}>
            With undo
          </Button>
          <Button variant="default" onClick={() => notifyError(serverError)}>
            Error
          </Button>
        </Group>
      </Example>
      <DeleteSection
        kind="workspace"
        name="dev"
        title="dev"
        description="Deletes the workspace and its disk."
        warning={warning}
        error={null}
        pending={false}
        onConfirm={act}
      />
    </>
  );
}
