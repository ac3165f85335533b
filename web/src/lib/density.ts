import { useLocalStorage } from '@mantine/hooks';
import { useEffect } from 'react';

/** How much space the rows of tables have. */
export type Density = 'comfortable' | 'compact';

/** Returns the density of tables, which the browser keeps, and a function that sets it. */
export function useDensity() {
  // Without a default value of its own, the hook stores nothing before the user chooses.
  const [density = 'comfortable', setDensity] = useLocalStorage<Density>({
    key: 'density',
    getInitialValueInEffect: false,
  });
  return [density, setDensity] as const;
}

/** Gives the tables of the document the chosen density, also those in dialogs. */
export function useDocumentDensity(): void {
  const [density] = useDensity();
  useEffect(() => {
    document.documentElement.dataset.density = density;
  }, [density]);
}
