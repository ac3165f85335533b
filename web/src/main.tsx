import './mantine.css';
import './style.css';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { setNonce } from 'get-nonce';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queries } from './api/queries';
import { newVersionQuery } from './api/newVersion';
import { Dialogs } from './components/dialogs';
import { preloadComponents } from './components/lazyComponent';
import { beginFirstPage } from './lib/firstPage';
import { nonce } from './nonce';
import { router } from './router';
import { contrast, theme } from './theme';

setNonce(nonce()); // for the style element that dialogs insert to lock scrolling

// Code that the server no longer has belongs to the version before an upgrade.
addEventListener('vite:preloadError', () => void queries.fetchQuery(newVersionQuery).catch(() => undefined));

const root = document.getElementById('root');
if (!root) throw new Error('index.html has no #root');
const isLoading = () => queries.isFetching({ predicate: (query) => query.state.status === 'pending' }) > 0;
queries.getQueryCache().subscribe(() => {
  root.ariaBusy = String(isLoading()); // until the page has its first data
});
beginFirstPage(isLoading, () => void preloadComponents());
createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} cssVariablesResolver={contrast} defaultColorScheme="auto" getStyleNonce={nonce}>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
        <Dialogs />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
