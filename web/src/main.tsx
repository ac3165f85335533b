import './mantine.css';
import './style.css';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { setNonce } from 'get-nonce';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { me, queries } from './api/queries';
import { nonce } from './nonce';
import { Dialogs } from './parts/dialogs';
import { router } from './router';
import { contrast, theme } from './theme';

void queries.prefetchQuery(me); // every page asks for it first
setNonce(nonce()); // for the style element that dialogs put in to lock the scroll bar

const root = document.getElementById('root');
if (!root) throw new Error('index.html has no #root');
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
