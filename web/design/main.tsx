// The entry point of the page of the design system. The mock must be installed before other modules start.

import '../demo/install';
import '../src/mantine.css';
import '../src/style.css';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider, createMemoryHistory, createRootRoute, createRouter } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queries } from '../src/api/queries';
import { Dialogs } from '../src/components/dialogs';
import { contrast, theme } from '../src/theme';
import { DesignPage } from './DesignPage';
import { pendingJob, pendingReason } from './examples';
import { copyStates } from './states';

queries.setQueryData(['explain', pendingJob.id], pendingReason);

// A router of its own: the components contain links.
const router = createRouter({
  routeTree: createRootRoute({ component: DesignPage }),
  history: createMemoryHistory(),
  defaultNotFoundComponent: DesignPage,
});

const root = document.getElementById('root');
if (!root) throw new Error('index.html has no #root');
createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} cssVariablesResolver={contrast} defaultColorScheme="auto">
      <QueryClientProvider client={queries}>
        <RouterProvider<typeof router> router={router} />
        <Dialogs />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
addEventListener('load', copyStates);
