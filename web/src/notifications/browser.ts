// Notifications that this browser shows while no page of the dashboard is open (web push).

import { queryOptions } from '@tanstack/react-query';
import { api } from '../api/client';

/** Whether this browser shows notifications of the signed-in user, or why it cannot. */
export type BrowserState = 'on' | 'off' | 'blocked' | 'unsupported';

const path = { user: 'me' };

/** The local storage item with the ID of the user who turned notifications on in this browser. */
const userItem = 'push-user';

const isSupported = () => 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window;

async function currentSubscription(): Promise<PushSubscription | null> {
  const worker = await navigator.serviceWorker.getRegistration('/');
  return (await worker?.pushManager.getSubscription()) ?? null;
}

const encode = (bytes: ArrayBuffer | null) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes ?? new ArrayBuffer(0))))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

/** The state of this browser for a user. */
export const browserQuery = (user: string, publicKey: string) =>
  queryOptions({
    queryKey: ['push', user, publicKey],
    queryFn: async (): Promise<BrowserState> => {
      if (!isSupported()) return 'unsupported';
      if (Notification.permission === 'denied') return 'blocked';
      const subscription = await currentSubscription();
      // A subscription for another key or user does not count.
      const key = encode(subscription?.options.applicationServerKey ?? null);
      return subscription && key === publicKey && localStorage.getItem(userItem) === user ? 'on' : 'off';
    },
  });

/** Turns on notifications of the user in this browser. The browser asks the user for permission. */
export async function subscribe(user: string, publicKey: string): Promise<void> {
  const permission = await Notification.requestPermission();
  if (permission !== 'granted') throw new Error('This browser does not allow notifications of this site.');
  await navigator.serviceWorker.register('/push-worker.js', { scope: '/' });
  const worker = await navigator.serviceWorker.ready;
  const old = await worker.pushManager.getSubscription();
  if (old && encode(old.options.applicationServerKey) !== publicKey) await old.unsubscribe();
  const subscription = await worker.pushManager
    .subscribe({ userVisibleOnly: true, applicationServerKey: publicKey })
    .catch((cause: Error) => {
      throw new Error(`This browser cannot subscribe at its push service: ${cause.message}`, { cause });
    });
  const body = {
    endpoint: subscription.endpoint,
    p256dh_key: encode(subscription.getKey('p256dh')),
    auth_key: encode(subscription.getKey('auth')),
  };
  await api.post('/users/{user}/webpush/subscription', { path, body });
  localStorage.setItem(userItem, user);
}

/** Turns off notifications in this browser. */
export async function unsubscribe(): Promise<void> {
  if (!isSupported()) return;
  const subscription = await currentSubscription();
  localStorage.removeItem(userItem);
  if (!subscription) return;
  await api.delete('/users/{user}/webpush/subscription', { path, body: { endpoint: subscription.endpoint } });
  await subscription.unsubscribe();
}

/** Sends a test notification to the browsers of the user. */
export const sendTest = () => api.post('/users/{user}/webpush/test', { path });
