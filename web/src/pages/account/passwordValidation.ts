import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client';

/** Validates a password on the server while it is typed; undefined while loading. */
export function usePasswordValidation(password: string) {
  return useQuery({
    queryKey: ['password', password],
    queryFn: () => api.post('/users/validate-password', { body: { password } }),
    enabled: password.length > 0,
    gcTime: 0, // do not keep passwords in the cache
  }).data;
}
