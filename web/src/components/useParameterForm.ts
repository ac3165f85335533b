// The state of a form of template parameters: creating, updating and embedding share it.

import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schema } from '../api/client';
import {
  type FormParameter,
  findError,
  formQuery,
  formatDiagnostics,
  parameterFromPreview,
  parameterFromStatic,
} from '../lib/dynamicParameters';
import type { Parameter } from '../lib/parameter';

type Values = Record<string, string>;
type Value = Schema<'WorkspaceBuildParameter'>;

interface Options {
  version: string;
  /** The id of the owner of the workspace. */
  owner: string | undefined;
  /** The static parameters of the version, displayed until the server evaluated the form. */
  plain: Parameter[];
  /** Values from a link or from a workspace to duplicate. */
  initial?: Values;
  /** The values of the last build. Immutable parameters keep them. */
  previous?: Values;
  /** The preset, whose values cannot be changed. */
  preset?: Schema<'Preset'>;
  /** Parameters that a link makes read-only. */
  readOnly?: ReadonlySet<string>;
}

const noValues: Values = {};

/** Returns the values of a preset by name. */
const presetValues = (preset: Schema<'Preset'> | undefined): Values =>
  Object.fromEntries((preset?.Parameters ?? []).map((p) => [p.Name, p.Value]));

/** Returns the values that a new build inherits: those of the last build that are not for one build only. */
const inherited = (previous: Values, plain: Parameter[]): Values => {
  const ephemeral = new Set(plain.filter((p) => p.ephemeral).map((p) => p.name));
  return Object.fromEntries(Object.entries(previous).filter(([name]) => !ephemeral.has(name)));
};

/** Returns the parameters, values and errors of a form, and check, which submits them. */
export function useParameterForm(options: Options) {
  const { version, owner, plain, initial = noValues, previous = noValues, preset, readOnly } = options;
  const client = useQueryClient();
  const [typed, setTyped] = useState<Values>(initial);
  const [tried, setTried] = useState(false);
  const [checking, setChecking] = useState(false);
  const [changed, setChanged] = useState(false);
  const fixed = presetValues(preset);
  const inputs = { ...inherited(previous, plain), ...typed, ...fixed };
  const [settled] = useDebouncedValue(JSON.stringify(inputs), 250);
  const form = useQuery({
    ...formQuery(version, owner, JSON.parse(settled) as Values),
    placeholderData: keepPreviousData,
  });
  const current = settled === JSON.stringify(inputs) && form.isSuccess && !form.isPlaceholderData;
  const parameters = form.data?.parameters.map(parameterFromPreview) ?? plain.map(parameterFromStatic);

  const valueIn = (parameter: FormParameter) => inputs[parameter.name] ?? parameter.evaluated;
  const isKept = (parameter: FormParameter) => !parameter.mutable && previous[parameter.name] !== undefined;
  /** Why the user cannot change a value; undefined when the user can. */
  const lock = (parameter: FormParameter): string | undefined => {
    if (fixed[parameter.name] !== undefined) return `Set by the preset ${preset?.Name}.`;
    if (readOnly?.has(parameter.name)) return 'Set by the link that you followed.';
    if (isKept(parameter)) return 'Cannot be changed after the workspace was created.';
    if (parameter.locked) return 'Set by the template.';
    return undefined;
  };
  const errorOf = (parameter: FormParameter, evaluated: boolean) =>
    isKept(parameter) ? undefined : findError(parameter, valueIn(parameter), previous[parameter.name], evaluated);
  const shown = (list: FormParameter[]) => JSON.stringify(list.map((p) => [p.name, valueIn(p)]));

  /** Returns the values to send, which are those that the form displays; undefined when it has errors. */
  const check = async (): Promise<Value[] | undefined> => {
    setTried(true);
    setChecking(true);
    setChanged(false);
    try {
      const answer = await client
        .fetchQuery({ ...formQuery(version, owner, inputs), staleTime: Infinity })
        .catch(() => undefined);
      const list = answer?.parameters.map(parameterFromPreview) ?? parameters;
      if (answer && formatDiagnostics(answer.diagnostics, 'error')) return undefined;
      if (list.some((parameter) => errorOf(parameter, answer !== undefined))) return undefined;
      if (shown(list) !== shown(parameters)) {
        setChanged(true); // the user has not seen these values
        return undefined;
      }
      return list
        .filter((parameter) => !isKept(parameter))
        .map((parameter) => ({ name: parameter.name, value: valueIn(parameter) }));
    } finally {
      setChecking(false);
    }
  };

  return {
    parameters,
    typed,
    /** The server has evaluated the form, or failed to. */
    ready: form.isSuccess || form.isError,
    evaluated: form.isSuccess,
    checking,
    /** The parameters or their values changed between what was displayed and the submit. */
    changed,
    problem: form.data && formatDiagnostics(form.data.diagnostics, 'error'),
    value: valueIn,
    lock,
    /** The error to display: for values that the user or a former version entered, and after a submit. */
    error: (parameter: FormParameter) =>
      tried || typed[parameter.name] !== undefined || previous[parameter.name] !== undefined
        ? errorOf(parameter, current)
        : undefined,
    valid: parameters.every((parameter) => !errorOf(parameter, current)),
    set: (name: string, value: string | undefined) =>
      setTyped((old) => {
        if (value !== undefined) return { ...old, [name]: value };
        return Object.fromEntries(Object.entries(old).filter(([known]) => known !== name));
      }),
    check,
  };
}

export type ParameterForm = ReturnType<typeof useParameterForm>;
