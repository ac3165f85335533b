// What the pages of a template read and do.

import { queryOptions, useQuery } from '@tanstack/react-query';
import { type Schema, api, send } from '../../api/client';
import { useLive } from '../../api/live';
import { useMay } from '../../api/permissions';
import { type Entry, readTar } from './archive';

export type Template = Schema<'Template'>;
export type Version = Schema<'TemplateVersion'>;

export const templateQuery = (organization: string, name: string) =>
  queryOptions({
    queryKey: ['template', organization, name],
    queryFn: () => api.get('/organizations/{organization}/templates/{templatename}', { path: { organization, templatename: name } }),
  });

export const versionQuery = (id: string) =>
  queryOptions({
    queryKey: ['version', id],
    queryFn: () => api.get('/templateversions/{templateversion}', { path: { templateversion: id } }),
    enabled: id !== '',
  });

/** The newest versions of a template, archived ones left out. */
export const versionsQuery = (template: string, page: number, size: number) =>
  queryOptions({
    queryKey: ['versions', template, page, size],
    queryFn: () => api.get('/templates/{template}/versions', { path: { template }, query: { limit: size, offset: (page - 1) * size } }),
  });

export const variablesQuery = (version: string) =>
  queryOptions({
    queryKey: ['version', version, 'variables'],
    queryFn: () => api.get('/templateversions/{templateversion}/variables', { path: { templateversion: version } }),
  });

/** The files of a version's source; they never change. */
export const filesQuery = (file: string | undefined) =>
  queryOptions({
    queryKey: ['file', file],
    queryFn: async ({ signal }): Promise<Entry[]> => {
      const answer = await send('GET', `/api/v2/files/${file}`, { signal });
      return readTar(new Uint8Array(await answer.arrayBuffer()));
    },
    enabled: Boolean(file),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** Uploads a source and gives the id of the file. */
export async function upload(source: Blob, type = 'application/x-tar'): Promise<string> {
  const answer = await send('POST', '/api/v2/files', { body: source, headers: { 'Content-Type': type } });
  return ((await answer.json()) as Schema<'UploadResponse'>).hash;
}

/** Whether a job is not over yet. */
export const unfinished = (job: Schema<'ProvisionerJob'>): boolean => ['pending', 'running', 'canceling'].includes(job.status);

/** A version, live while it is imported. */
export function useVersion(id: string) {
  const answer = useQuery(versionQuery(id));
  const job = answer.data?.job;
  useLive(job && unfinished(job) ? [`job/${job.id}`, `jobs/${job.organization_id}`] : [], ['version', id]);
  return answer;
}

/** What somebody may do with a template. */
export function useTemplateRights(t: Template | undefined) {
  const at = { organization: t?.organization_id, id: t?.id };
  return useMay(
    t && {
      update: { on: 'template', action: 'update', ...at },
      remove: { on: 'template', action: 'delete', ...at },
      insights: { on: 'template', action: 'view_insights', ...at },
    },
  );
}
