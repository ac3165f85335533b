import { Alert } from '@mantine/core';
import { ParameterField } from './ParameterField';
import type { ParameterForm } from './useParameterForm';

/** The fields of all parameters of a form, with the problems of the form as a whole. */
export function ParameterFields({ form }: { form: ParameterForm }) {
  return (
    <>
      {form.problem && (
        <Alert color="red" role="alert">
          {form.problem}
        </Alert>
      )}
      {form.changed && (
        <Alert color="yellow" role="alert" title="The parameters changed">
          The template evaluated other parameters or values for your input. Check them, then submit again.
        </Alert>
      )}
      {form.parameters.map((parameter) => (
        <ParameterField
          key={parameter.name}
          parameter={parameter}
          value={form.value(parameter)}
          lock={form.lock(parameter)}
          error={form.error(parameter)}
          onChange={(value) => form.set(parameter.name, value)}
        />
      ))}
    </>
  );
}
