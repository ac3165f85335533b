// The check of unpublished files by the server: problems, blocks and the form.

import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type Schema, api } from '../../api/client';
import { findLocation } from '../../lib/failure';
import { type Entry, decodeText } from './archive';
import type { Template } from './queries';

export type Problem = Schema<'TemplateDiagnostic'>;
export type Block = Schema<'TemplateBlock'>;

/** Returns the Terraform files among the files, as the server checks them. */
export const terraformFiles = (files: readonly Entry[]): Schema<'TemplateFile'>[] =>
  files.flatMap((file) => {
    const content = /\.tf(\.json)?$/.test(file.path) ? decodeText(file.data) : undefined;
    return content === undefined ? [] : [{ path: file.path, content }];
  });

/** Checks files shortly after they change. inputs are values of the form. */
export function useSourceCheck(template: Template, files: readonly Entry[], inputs: Record<string, string>) {
  const [settled] = useDebouncedValue({ files, inputs }, 400);
  return useQuery({
    queryKey: ['source-check', template.id, settled],
    queryFn: ({ signal }) =>
      api.post('/organizations/{organization}/templates/check', {
        path: { organization: template.organization_id },
        body: { files: terraformFiles(settled.files), template_id: template.id, inputs: settled.inputs },
        signal,
      }),
    placeholderData: keepPreviousData,
    gcTime: 0,
    retry: false,
  });
}

/** Returns the error of a failed import as a problem at the file and line that it names. */
export function importProblem(error: string): Problem {
  const at = findLocation(error.split('\n'));
  return {
    severity: 'error',
    summary: 'Import failed',
    detail: error,
    path: at?.file ?? '',
    line: at?.line ?? 0,
    column: 1,
    end_line: at?.line ?? 0,
    end_column: 1,
  };
}

/** A line of a file that contains a text. */
export interface Match {
  path: string;
  line: number;
  text: string;
}

const maxMatches = 200;

/** Returns the lines that contain a text in any case, at most 200. */
export function searchFiles(files: readonly Entry[], text: string): Match[] {
  const wanted = text.toLowerCase();
  const out: Match[] = [];
  if (wanted === '') return out;
  for (const file of files) {
    const lines = decodeText(file.data)?.split('\n') ?? [];
    for (const [i, line] of lines.entries()) {
      if (!line.toLowerCase().includes(wanted)) continue;
      out.push({ path: file.path, line: i + 1, text: line.trim() });
      if (out.length === maxMatches) return out;
    }
  }
  return out;
}
