// Queries of the template pages.

import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { type Schema, api, sendRequest } from '../../api/client';
import { useLiveUpdates } from '../../api/live';
import { usePermissionChecks } from '../../api/permissions';
import { type Entry, readTar } from './archive';

export type Template = Schema<'Template'>;
export type Version = Schema<'TemplateVersion'>;

export const templateQuery = (organization: string, name: string) =>
  queryOptions({
    queryKey: ['template', organization, name],
    queryFn: () =>
      api.get('/organizations/{organization}/templates/{templatename}', { path: { organization, templatename: name } }),
  });

export const versionQuery = (id: string) =>
  queryOptions({
    queryKey: ['version', id],
    queryFn: () => api.get('/templateversions/{templateversion}', { path: { templateversion: id } }),
    enabled: id !== '',
  });

/** A page of the versions of a template, newest first, without archived ones. */
export const versionsQuery = (template: string, page: number, size: number) =>
  queryOptions({
    queryKey: ['versions', template, page, size],
    queryFn: () =>
      api.get('/templates/{template}/versions', {
        path: { template },
        query: { limit: size, offset: (page - 1) * size, newest_first: true },
      }),
  });

/** The version that was created before another one; null for the first. */
export const predecessorQuery = (template: string, version: string) =>
  queryOptions({
    queryKey: ['versions', template, 'before', version],
    queryFn: async () => {
      const query = { after_id: version, newest_first: true, limit: 1 };
      const [found] = await api.get('/templates/{template}/versions', { path: { template }, query });
      return found ?? null;
    },
  });

export const variablesQuery = (version: string) =>
  queryOptions({
    queryKey: ['version', version, 'variables'],
    queryFn: () => api.get('/templateversions/{templateversion}/variables', { path: { templateversion: version } }),
  });

/** The source files of a version. They never change. */
export const filesQuery = (file: string | undefined) =>
  queryOptions({
    queryKey: ['file', file],
    queryFn: async ({ signal }): Promise<Entry[]> => {
      const answer = await sendRequest('GET', `/api/v2/files/${file}`, { signal });
      return readTar(new Uint8Array(await answer.arrayBuffer()));
    },
    enabled: Boolean(file),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** The modules that can be added to starter templates. */
export const modulesQuery = queryOptions({
  queryKey: ['modules'],
  queryFn: () => api.get('/templates/modules'),
  staleTime: Number.POSITIVE_INFINITY,
});

/** A starter template with modules. */
export type Composition = Schema<'ComposeTemplateRequest'>;

/** The source of a starter template with modules. */
export const compositionQuery = (composition: Composition) =>
  queryOptions({
    queryKey: ['composition', composition],
    queryFn: () => api.post('/templates/compose', { body: composition }),
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
    retry: false, // a setting can be invalid
  });

/** Uploads a source and returns the id of the file. */
export async function uploadSource(source: Blob, type = 'application/x-tar'): Promise<string> {
  const answer = await sendRequest('POST', '/api/v2/files', { body: source, headers: { 'Content-Type': type } });
  return ((await answer.json()) as Schema<'UploadResponse'>).hash;
}

/** Reports whether a job is pending or running. */
export const isUnfinished = (job: Pick<Schema<'ProvisionerJob'>, 'status'>): boolean =>
  ['pending', 'running', 'canceling'].includes(job.status);

/** Reads a version and keeps it up to date during its import. */
export function useVersion(id: string) {
  const answer = useQuery(versionQuery(id));
  const job = answer.data?.job;
  useLiveUpdates(job && isUnfinished(job) ? [`job/${job.id}`, `jobs/${job.organization_id}`] : [], ['version', id]);
  return answer;
}

/** Returns what the user can do with a template. */
export function useTemplateRights(template: Template | undefined) {
  const at = { organization: template?.organization_id, id: template?.id };
  return usePermissionChecks(
    template && {
      update: { on: 'template', action: 'update', ...at },
      remove: { on: 'template', action: 'delete', ...at },
      insights: { on: 'template', action: 'view_insights', ...at },
    },
  );
}
