import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client';

/** What the server says of a password as it is typed; undefined until it has. */
export function useVerdict(password: string) {
  return useQuery({
    queryKey: ['password', password],
    queryFn: () => api.post('/users/validate-password', { body: { password } }),
    enabled: password.length > 0,
    gcTime: 0, // passwords are kept no longer than they are looked at
  }).data;
}
